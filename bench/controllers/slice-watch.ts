import { Connection } from '../client.ts';
import type { Target } from '../client.ts';

/** Counts what happens to slices, without reading them. */
export class SliceWatch {
  added = 0;
  modified = 0;
  #check = (): void => {};

  static async open(target: Target): Promise<SliceWatch> {
    const watch = new SliceWatch();
    const connection = await Connection.open(target);
    let rest = '';
    const selector = encodeURIComponent('endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io');
    connection.stream(`/apis/discovery.k8s.io/v1/endpointslices?watch=true&labelSelector=${selector}`, (chunk) => {
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
