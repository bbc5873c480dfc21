import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/** Sets the value for some labels. */
export type SetValue = (labels: Record<string, string>, value: number) => void;

/** A metric whose values are read when they are asked for, and cost nothing until then. */
export function gauge(
  registers: Registry[],
  name: string,
  help: string,
  labelNames: string[],
  collect: (set: SetValue) => void,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      collect((labels, value) => this.set(labels, value));
    },
  });
}
