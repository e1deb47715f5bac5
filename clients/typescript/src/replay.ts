/** Bodies that can be sent again. */

/** Classes of bodies that can be read repeatedly. Streams and iterators cannot. */
const REPLAYABLE_CLASSES = new Set(['ArrayBuffer', 'Blob', 'File', 'FormData', 'URLSearchParams']);

/** Whether a body can be sent again. By class name, since polyfills and frames have own classes. */
export function isReplayable(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === 'string') return true;
  const name = Object.prototype.toString.call(body).slice('[object '.length, -1);
  return ArrayBuffer.isView(body) || REPLAYABLE_CLASSES.has(name);
}
