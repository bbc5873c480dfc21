import { RetryError } from '../../../src/loadbalancer/controller/provider.ts';

/** Does as the controller does when a cloud asks for time, without the time. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 20; ; tries--) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RetryError) || tries === 0) throw error;
    }
  }
}
