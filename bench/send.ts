import { Connection } from './client.ts';
import type { Target } from './client.ts';

const writers = 8;

/** Sends numbered requests over several connections; resolves with the start time. */
export async function send(
  target: Target,
  count: number,
  request: (index: number) => readonly [method: string, path: string, body: unknown, type?: string],
): Promise<number> {
  let next = 0;
  const connections = await Promise.all(
    Array.from({ length: Math.min(writers, count) }, () => Connection.open(target)),
  );
  const started = performance.now();
  const work = async (connection: Connection): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const [method, path, body, type] = request(index);
      const { status, body: answer } = await connection.request(method, path, JSON.stringify(body), type);
      if (status > 299) throw new Error(`${method} ${path}: ${status} ${answer.toString().slice(0, 300)}`);
    }
    connection.close();
  };
  await Promise.all(connections.map(work));
  return started;
}
