import { RetryError } from '../../../src/loadbalancer/controller/provider.ts';

/** Retries after a RetryError like the controller, but without a delay. */
export async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 20; ; tries--) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RetryError) || tries === 0) throw error;
    }
  }
}
