/**
 * Client of a limited API, which waits when it is refused, as long as the API demands and a random
 * time more.
 *
 *   node client.js URL TOKEN COUNT
 */
import { stopReason, withRetry } from 'slidegate-client';

const [url = 'http://127.0.0.1:3000/v1/search', token = 'token-of-bob', count = '3'] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}` };

let attempts = 0;
const countingFetch = (input, init) => {
  attempts += 1;
  return fetch(input, init);
};
const patientFetch = withRetry(countingFetch, { maxWaitMs: 10_000 });

for (let request = 1; request <= Number(count); request += 1) {
  attempts = 0;
  const response = await patientFetch(url, { headers });
  await response.text();
  console.log(`${request}: ${response.status}, attempts: ${attempts}, ${stopReason(response)}`);
}
