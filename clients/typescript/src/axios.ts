/** Retries for axios, by interceptors. */
import { headerPairs } from './advice/fields.ts';
import { isReplayable } from './replay.ts';
import { originOf, RetryPolicy, type RetryOptions } from './retry.ts';

/** Configuration of a request, as far as it is read or changed here. */
interface AxiosConfig {
  method?: string;
  data?: unknown;
  transformRequest?: unknown;
  signal?: unknown;
  /** Number of refusals before this attempt. axios passes on names that it does not know. */
  slidegateAttempt?: number;
}

interface AxiosReply {
  readonly status: number;
  readonly headers: object;
  readonly config: AxiosConfig;
}

interface Interceptors<T> {
  use(onFulfilled: (value: T) => Promise<T>, onRejected?: (error: unknown) => Promise<T>): number;
}

/** Instance of axios, as far as it is used here. */
export interface AxiosInstance {
  readonly interceptors: { readonly request: unknown; readonly response: unknown };
  getUri(config?: object): string;
  request(config: object): Promise<unknown>;
}

/**
 * Adds interceptors to an instance of axios: refused requests are sent again, after the delay that
 * the server demands and jitter. When a policy stops, axios does what it does without them: it
 * rejects, unless `validateStatus` says otherwise.
 *
 * Each attempt passes all interceptors. Add this one last: those of responses that come after it
 * would see the final response twice.
 */
export function addAxiosRetry(axios: AxiosInstance, options: RetryOptions = {}): void {
  const policy = new RetryPolicy(options);
  const requests = axios.interceptors.request as Interceptors<AxiosConfig>;
  const responses = axios.interceptors.response as Interceptors<AxiosReply>;

  requests.use(async (config) => {
    // A retry has waited before it came here.
    if (config.slidegateAttempt !== undefined) return config;
    const origin = originOf(axios.getUri(config));
    policy.start(origin);
    await policy.ready(origin, abortSignal(config));
    return config;
  });

  /** Response to another attempt; `undefined` if there is none. */
  const retry = async ({ status, headers, config }: AxiosReply): Promise<AxiosReply | undefined> => {
    const origin = originOf(axios.getUri(config));
    const head = { status, headers: headerPairs(headers) };
    const { method = 'get', data, slidegateAttempt: attempt = 0 } = config;
    policy.observe(origin, head);
    const request = { method: method.toUpperCase(), replayable: isReplayable(data), attempt };
    const next = policy.next(origin, head, request);
    if (next.stop) return undefined;
    await next.ready(abortSignal(config));
    // The data is what was sent: it must not be transformed a second time.
    const transformRequest = [(sent: unknown) => sent];
    const again = { ...config, transformRequest, slidegateAttempt: attempt + 1 };
    return axios.request(again) as Promise<AxiosReply>;
  };

  responses.use(
    async (response) => await retry(response) ?? response,
    async (error) => {
      const { response } = error as { response?: AxiosReply };
      const retried = response === undefined ? undefined : await retry(response);
      if (retried === undefined) throw error;
      return retried;
    },
  );
}

function abortSignal({ signal }: AxiosConfig): AbortSignal | undefined {
  return signal instanceof AbortSignal ? signal : undefined;
}
