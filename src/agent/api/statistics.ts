// What this machine and its containers use, as a kubelet reports it.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { LocalContainer, Runtime } from '../pods/runtime.ts';
import { machineCpuSeconds, parseCgroupCpu, parseProcess, workingSetOf } from './process-statistics.ts';

/** Processor time since the start in seconds, and memory. */
interface Amounts {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

interface Sample {
  readonly at: number;
  readonly node: Amounts;
  /** container ID → its amounts */
  readonly containers: ReadonlyMap<string, Amounts>;
}

/** Samples between which a rate is computed are at least this far apart, and at most. */
const leastMs = 1000;
const mostMs = 5 * 60_000;
/** A sample is used for requests for this long. */
const freshMs = 5000;

/** Measures when it is asked, and only then: an idle agent reads nothing. */
export class Statistics {
  readonly #runtime: Runtime;
  readonly #nodeName: string;
  #before: Sample | undefined;
  #latest: Sample | undefined;
  #measuring: Promise<void> | undefined;

  constructor(runtime: Runtime, nodeName: string) {
    this.#runtime = runtime;
    this.#nodeName = nodeName;
  }

  /** The body of `/stats/summary`. */
  async summary(): Promise<object> {
    await this.#measure();
    const [before, latest] = [this.#before, this.#latest];
    if (latest === undefined) throw new Error('bug: nothing was measured');
    const time = new Date(latest.at).toISOString();
    const usage = (now: Amounts, then: Amounts | undefined): object => ({
      cpu: {
        time,
        ...rate(now, then, latest.at - (before?.at ?? latest.at)),
        usageCoreNanoSeconds: nano(now.cpuSeconds),
      },
      memory: { time, workingSetBytes: now.memoryBytes },
    });
    const pods = this.#runtime.pods().map(({ pod: { metadata }, containers }) => ({
      podRef: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid },
      startTime: metadata.creationTimestamp,
      containers: containers.flatMap((container) => {
        const id = container.status?.containerID ?? '';
        const now = latest.containers.get(id);
        return now === undefined ? [] : [{ name: container.name, ...usage(now, before?.containers.get(id)) }];
      }),
    }));
    return { node: { nodeName: this.#nodeName, ...usage(latest.node, before?.node) }, pods };
  }

  /** The body of `/metrics/resource`, which metrics-server reads. */
  async metrics(): Promise<string> {
    const { at, node, containers } = await this.#sample();
    const lines = [
      '# TYPE node_cpu_usage_seconds_total counter',
      `node_cpu_usage_seconds_total ${node.cpuSeconds} ${at}`,
      '# TYPE node_memory_working_set_bytes gauge',
      `node_memory_working_set_bytes ${node.memoryBytes} ${at}`,
    ];
    const measured = this.#runtime.pods().flatMap(({ pod: { metadata }, containers: all }) =>
      all.flatMap(({ name, status }) => {
        const amounts = containers.get(status?.containerID ?? '');
        const labels = `{container="${name}",namespace="${metadata.namespace}",pod="${metadata.name}"}`;
        return amounts === undefined ? [] : [{ labels, amounts }];
      }),
    );
    lines.push('# TYPE container_cpu_usage_seconds_total counter');
    for (const { labels, amounts } of measured)
      lines.push(`container_cpu_usage_seconds_total${labels} ${amounts.cpuSeconds} ${at}`);
    lines.push('# TYPE container_memory_working_set_bytes gauge');
    for (const { labels, amounts } of measured)
      lines.push(`container_memory_working_set_bytes${labels} ${amounts.memoryBytes} ${at}`);
    lines.push('# TYPE resource_scrape_error gauge', 'resource_scrape_error 0', '');
    return lines.join('\n');
  }

  /** Concurrent requests share a measurement. */
  async #measure(): Promise<void> {
    this.#measuring ??= this.#update().finally(() => (this.#measuring = undefined));
    await this.#measuring;
  }

  async #update(): Promise<void> {
    const now = Date.now();
    if (this.#before !== undefined && this.#latest !== undefined && now - this.#latest.at < freshMs) return;
    let before = this.#latest;
    if (before === undefined || now - before.at > mostMs || before.at > now) before = await this.#sample();
    const missing = leastMs - (Date.now() - before.at);
    if (missing > 0) await delay(missing);
    this.#before = before;
    this.#latest = await this.#sample();
  }

  async #sample(): Promise<Sample> {
    const all = this.#runtime.pods().flatMap(({ containers }) => containers);
    const [cpuSeconds, memoryBytes] = await Promise.all([machineCpuSeconds(), workingSetOfMachine()]);
    const processes = all.some(({ cgroup }) => cgroup === undefined) ? await sessions() : new Map<number, Amounts>();
    const containers = new Map<string, Amounts>();
    for (const container of all) {
      const id = container.status?.containerID ?? '';
      if (id !== '' && container.pid !== undefined) containers.set(id, await amountsOf(container, processes));
    }
    return { at: Date.now(), node: { cpuSeconds, memoryBytes }, containers };
  }
}

const nano = (seconds: number): number => Math.round(seconds * 1e9);

function rate(now: Amounts, then: Amounts | undefined, ms: number): { usageNanoCores?: number } {
  if (then === undefined || ms <= 0) return {};
  return { usageNanoCores: Math.max(0, Math.round(((now.cpuSeconds - then.cpuSeconds) / (ms / 1000)) * 1e9)) };
}

async function amountsOf(container: LocalContainer, processes: ReadonlyMap<number, Amounts>): Promise<Amounts> {
  if (container.cgroup !== undefined) {
    const read = (file: string): Promise<string> =>
      readFile(join(container.cgroup ?? '', file), 'utf8').catch(() => '');
    const [cpu, current, memory] = await Promise.all([read('cpu.stat'), read('memory.current'), read('memory.stat')]);
    return { cpuSeconds: parseCgroupCpu(cpu), memoryBytes: workingSetOf(current, memory) };
  }
  let [cpuSeconds, memoryBytes] = [0, 0];
  for (const session of container.sessions) {
    const amounts = processes.get(session);
    cpuSeconds += amounts?.cpuSeconds ?? 0;
    memoryBytes += amounts?.memoryBytes ?? 0;
  }
  return { cpuSeconds, memoryBytes };
}

/** The processes of the machine, added up by session. */
async function sessions(): Promise<ReadonlyMap<number, Amounts>> {
  const found = new Map<number, Amounts>();
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const process = parseProcess(await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')); // it may have ended
    if (process === undefined) continue;
    const { cpuSeconds = 0, memoryBytes = 0 } = found.get(process.session) ?? {};
    found.set(process.session, {
      cpuSeconds: cpuSeconds + process.cpuSeconds,
      memoryBytes: memoryBytes + process.memoryBytes,
    });
  }
  return found;
}

async function workingSetOfMachine(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const total = Number(/^MemTotal: +(\d+)/m.exec(text)?.[1] ?? 0);
  const available = Number(/^MemAvailable: +(\d+)/m.exec(text)?.[1] ?? 0);
  return Math.max(0, total - available) * 1024;
}
