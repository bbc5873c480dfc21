import { spawnSync } from 'node:child_process';

import type { EtcdMember } from '../../src/store/etcd/testing/etcd.ts';
import { find } from '../harness/needs.ts';

/** Why members cannot be cut off from each other here. */
export const whyNoPartitions = (): readonly string[] => [
  ...(process.getuid?.() === 0 ? [] : ['root must add rules for packets']),
  ...(find('nft') === undefined ? ['nft is not installed'] : []),
];

/** Cuts members of etcd off from each other. Each must run as a user of its own. */
export class Partition implements Disposable {
  readonly #table = `fairlead_partition_${process.pid}`;

  /** Drops all packets between one member and the others. Their connections stay open. */
  isolate({ peerPort }: EtcdMember, uid: number, others: readonly EtcdMember[]): void {
    const ports = others.map((other) => other.peerPort).join(', ');
    nft(`
      table inet ${this.#table} {
        chain output {
          type filter hook output priority 0
          tcp dport ${peerPort} drop
          tcp sport ${peerPort} drop
          meta skuid ${uid} tcp dport { ${ports} } drop
        }
      }`);
  }

  heal(): void {
    nft(`table inet ${this.#table} {}\ndelete table inet ${this.#table}`);
  }

  [Symbol.dispose](): void {
    this.heal();
  }
}

function nft(rules: string): void {
  const { status, stderr } = spawnSync(find('nft') ?? 'nft', ['-f', '-'], { input: rules, encoding: 'utf8' });
  if (status !== 0) throw new Error(`nft: ${stderr}`);
}
