import { Connection } from './client.ts';
import type { Target } from './client.ts';

/** Counts events of the objects of a path without parsing them. */
export class WatchCount {
  added = 0;
  modified = 0;
  #check = (): void => {};

  static async open(target: Target, path: string): Promise<WatchCount> {
    const watch = new WatchCount();
    const connection = await Connection.open(target);
    let rest = '';
    connection.stream(`${path}${path.includes('?') ? '&' : '?'}watch=true`, (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.startsWith('{"type":"ADDED"')) watch.added++;
        else if (line.startsWith('{"type":"MODIFIED"')) watch.modified++;
      }
      watch.#check();
    });
    return watch;
  }

  until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#check = () => {
        if (!isDone()) return;
        this.#check = () => {};
        resolve();
      };
      this.#check();
    });
  }
}
