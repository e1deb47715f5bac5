/** Errors of the check client. */

/** Most characters of a body that an error repeats. */
const MAX_DETAIL_LENGTH = 200;

/** Failure to get an answer. A denial is none: it is an answer. */
export class CheckError extends Error {
  override readonly name = 'CheckError';
  /** Status of the response; `undefined` if there was none. */
  readonly status: number | undefined;

  constructor(message: string, { status, ...options }: { status?: number; cause?: unknown } = {}) {
    super(message, options);
    this.status = status;
  }

  /** Error for a response that is not an answer: a problem, or nothing that Slidegate sends. */
  static fromReply({ status, text }: { status: number; text: string }): CheckError {
    return new CheckError(`the server answered ${status}: ${detail(text)}`, { status });
  }
}

/** Detail of a problem, or the start of a body that is none. */
function detail(text: string): string {
  try {
    const problem = JSON.parse(text);
    if (typeof problem.detail === 'string') return problem.detail;
  } catch {
    // The text itself says more than that it is not JSON.
  }
  return text.slice(0, MAX_DETAIL_LENGTH);
}
