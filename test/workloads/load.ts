// Sends requests without a pause, each over a new connection, until SIGTERM; then prints the failures and the number of each answer.
import { request } from 'node:http';

const [url = '', workers = ''] = process.argv.slice(2);
const answers: Record<string, number> = {};
const failures: string[] = [];
let isStopped = false;
process.once('SIGTERM', () => (isStopped = true));

const answer = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, timeout: 10_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve(text.trim())).on('error', reject);
    });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer within 10 s')));
    sent.end();
  });

async function work(): Promise<void> {
  while (!isStopped) {
    try {
      const text = await answer();
      answers[text] = (answers[text] ?? 0) + 1;
    } catch (error) {
      failures.push(`${new Date().toISOString()} ${String(error)}`);
    }
  }
}

console.log('started');
await Promise.all(Array.from({ length: Number(workers) }, work));
console.log(JSON.stringify({ failures, answers }));
