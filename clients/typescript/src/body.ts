/** Bodies of responses, read up to a bound. */

/** Text of a body. Rejects if it is longer than a number of bytes. */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = '';
  let bytes = 0;
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) return text + decoder.decode();
    bytes += chunk.value.byteLength;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw new Error(`the response has more than ${maxBytes} bytes`);
    }
    text += decoder.decode(chunk.value, { stream: true });
  }
}
