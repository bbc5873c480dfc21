// A model of the kernel: evaluates the rules of a table. It implements the expressions that we write and no others.
import assert from 'node:assert/strict';

import { contains, parseAddress, parseCidr } from '../../../api/addresses.ts';
import type { Chain, Commit } from './table.ts';
import { Table } from './table.ts';

/** The first packet of a flow. */
export interface Packet {
  readonly saddr: string;
  daddr: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  dport: number;
  readonly isLocal: boolean;
  /** The priority that another program has set. */
  priority?: number;
}

interface PacketState extends Packet {
  mark: number;
  priority: number;
  isMasqueraded: boolean;
  readonly original: string;
  isTranslated: boolean;
}

/** The verdict. */
export type PacketVerdict = 'reject' | 'drop' | 'pass' | { readonly to: string; readonly isMasqueraded: boolean };

type Verdict = 'accept' | 'drop' | 'reject' | 'return' | { readonly goto: string } | { readonly jump: string };

/** Evaluates the rules of a table. */
export class Kernel {
  #table: Table;
  /** A transaction that is committed while a packet passes, and the number of lookups before it. */
  #commit: { readonly after: Table; readonly lookups: number } | undefined;
  #lookups = 0;
  /** The slot that `numgen random` returns. */
  draw: (of: number) => number = () => 0;
  /** Whether an address is local to the node. */
  isNode: (address: string) => boolean = () => false;

  constructor(table = new Table()) {
    this.#table = table;
  }

  get sets(): ReadonlyMap<string, Map<string, string>> {
    return this.#table.sets;
  }

  get chainNames(): readonly string[] {
    return [...this.#table.chains.keys()];
  }

  /** Executes a transaction; throws what nft would reject. */
  run(commands: readonly string[]): void {
    this.#table.run(commands);
  }

  /** The current table. */
  snapshot(): Table {
    return this.#table.copy();
  }

  /**
   * Evaluates a packet while a transaction is committed: a hook that it has entered uses the old rules to its end,
   * but the new elements as soon as they are committed, as Linux does. `isOver`: the commit ended in time.
   */
  passDuring(
    commit: Commit,
    lookups: number,
    packet: Packet,
  ): { readonly verdict: PacketVerdict; readonly isOver: boolean } {
    this.#table = commit.before.view();
    this.#commit = { after: commit.after.view(), lookups };
    this.#lookups = 0;
    const verdict = this.pass(packet);
    this.#commit = undefined;
    return { verdict, isOver: this.#lookups > lookups };
  }

  /** The set with a name at this moment. */
  #set(name: string): Map<string, string> | undefined {
    this.#lookups++;
    return this.#now().sets.get(name);
  }

  #now(): Table {
    return this.#commit !== undefined && this.#lookups > this.#commit.lookups ? this.#commit.after : this.#table;
  }

  /** Evaluates the first packet of a flow. */
  pass(packet: Packet): PacketVerdict {
    const passing: PacketState = {
      ...packet,
      mark: 0,
      priority: packet.priority ?? 0,
      isMasqueraded: false,
      original: packet.daddr,
      isTranslated: false,
    };
    const first = packet.isLocal ? ['output'] : ['prerouting'];
    for (const hook of [...first, ...(packet.isLocal ? [] : ['forward']), 'postrouting']) {
      const verdict = this.#hook(hook, passing);
      if (verdict !== undefined) return verdict;
    }
    if (passing.priority !== packet.priority)
      assert.equal(passing.priority, 0, 'no number of ours leaves with a packet');
    assert.equal(passing.mark, 0, 'the mark of a packet is as it was when it leaves');
    if (!passing.isTranslated) return 'pass';
    return { to: `${passing.daddr} ${passing.dport}`, isMasqueraded: passing.isMasqueraded };
  }

  #hook(hook: string, packet: PacketState): 'reject' | 'drop' | undefined {
    const rules = this.#now().chains;
    const chains = [...rules.values()]
      .filter((chain) => chain.hook?.hook === hook)
      .sort((a, b) => (a.hook?.priority ?? 0) - (b.hook?.priority ?? 0));
    for (const chain of chains) {
      const verdict = this.#walk(chain, packet, rules);
      if (verdict === 'reject' || verdict === 'drop') return verdict;
    }
    return undefined;
  }

  /** Undefined: the chain ended, or returned. */
  #walk(chain: Chain, packet: PacketState, chains: ReadonlyMap<string, Chain>): Verdict | undefined {
    for (const rule of chain.rules) {
      const verdict = this.#rule(rule, packet);
      if (verdict === undefined) continue;
      if (verdict === 'return') return undefined;
      if (typeof verdict === 'string') return verdict;
      const name = 'goto' in verdict ? verdict.goto : verdict.jump;
      assert.ok(this.#now().chains.has(name) || chains.has(name));
      // A chain that is new has no rules for packets that use the old rules.
      const inner = this.#walk(chains.get(name) ?? { rules: [] }, packet, chains);
      if (inner !== undefined || 'goto' in verdict) return inner;
    }
    return undefined;
  }

  /** Undefined: a condition is false, or the rule has no verdict. */
  #rule(rule: string, packet: PacketState): Verdict | undefined {
    let rest = rule;
    while (rest !== '') {
      const [statement, after] = this.#statement(rest, packet);
      if (statement === false) return undefined;
      if (statement !== true) return statement;
      rest = after.trim();
    }
    return undefined;
  }

  #statement(text: string, packet: PacketState): readonly [boolean | Verdict, string] {
    const take = (pattern: RegExp): RegExpExecArray | null => pattern.exec(text);
    const after = (found: RegExpExecArray): string => text.slice(found[0].length);
    let found: RegExpExecArray | null;
    if ((found = take(/^ct state new/))) return [true, after(found)];
    if ((found = take(/^ct status dnat/))) return [packet.isTranslated, after(found)];
    if ((found = take(/^ct original ip6? daddr @([\w-]+)/))) {
      return [this.#has(found[1], packet.original), after(found)];
    }
    if ((found = take(/^fib saddr type local/))) return [this.isNode(packet.saddr), after(found)];
    if ((found = take(/^meta mark and 0x4000 == 0x4000/))) return [(packet.mark & 0x4000) !== 0, after(found)];
    if ((found = take(/^meta mark set meta mark (or|xor) 0x4000/))) {
      packet.mark = found[1] === 'or' ? packet.mark | 0x4000 : packet.mark ^ 0x4000;
      return [true, after(found)];
    }
    if ((found = take(/^meta priority set 0/))) {
      packet.priority = 0;
      return [true, after(found)];
    }
    if ((found = take(/^masquerade fully-random/))) {
      packet.isMasqueraded = true;
      return ['accept', ''];
    }
    if ((found = take(/^(drop|reject)( with tcp reset)?/))) return [found[1] === 'drop' ? 'drop' : 'reject', ''];
    if ((found = take(/^(goto|jump) ([\w-]+)/))) return [verdictOf(found[0]), ''];
    return this.#lookup(text, packet);
  }

  #lookup(text: string, packet: PacketState): readonly [boolean | Verdict, string] {
    const update = /^(update|delete) @([\w-]+) \{ (.*?)(?: timeout \d+s)? : meta priority \}$/.exec(text);
    if (update !== null) {
      const [, verb, set = '', key = ''] = update;
      const entries = this.#set(set);
      const at = this.#key(key, packet).key;
      // An existing entry keeps its value.
      if (verb === 'delete') entries?.delete(at);
      else if (entries?.has(at) === false) entries.set(at, String(packet.priority));
      return [true, ''];
    }
    const prefix = /^(dnat to |meta priority set )?/.exec(text)?.[0] ?? '';
    const { key, rest } = this.#key(text.slice(prefix.length), packet);
    const lookup = /^ (!= )?(@|vmap @|map @)([\w-]+)/.exec(rest);
    if (lookup === null) {
      // A protocol without more is a condition.
      const [word = ''] = /^ (tcp|udp|sctp)/.exec(rest) ?? [];
      assert.notEqual(word, '', `unknown statement: ${text}`);
      return [key === word.trim(), rest.slice(word.length)];
    }
    const [whole, not, how, set = ''] = lookup;
    if (how === '@') return [this.#has(set, key) === (not === undefined), rest.slice(whole.length)];
    const value = this.#set(set)?.get(key);
    if (value === undefined) return [false, ''];
    if (how === 'vmap @') return [verdictOf(value), ''];
    if (prefix.startsWith('meta')) packet.priority = Number(value);
    else {
      const [address = '', port = ''] = value.split(' . ');
      Object.assign(packet, { daddr: address, dport: Number(port), isTranslated: true });
      return ['accept', ''];
    }
    return [true, rest.slice(whole.length)];
  }

  /** The values of a concatenation, as a key. */
  #key(text: string, packet: PacketState): { readonly key: string; readonly rest: string } {
    const parts: string[] = [];
    let rest = text;
    for (;;) {
      const [found, value] = this.#field(rest, packet);
      parts.push(value);
      rest = rest.slice(found.length);
      if (!rest.startsWith(' . ')) return { key: parts.join(' . '), rest };
      rest = rest.slice(3);
    }
  }

  #field(text: string, packet: PacketState): readonly [string, string] {
    const draw = /^numgen random mod (\d+)(?: offset (\d+))?/.exec(text);
    if (draw !== null) return [draw[0], String(this.draw(Number(draw[1])) + Number(draw[2] ?? 0))];
    const hash = /^jhash (.*?) mod 0x\w+ seed (0x\w+)/.exec(text);
    if (hash !== null) return [hash[0], `hash(${this.#key(hash[1] ?? '', packet).key}, ${hash[2]})`];
    const [found = ''] = /^(ip6? [sd]addr|meta l4proto|meta priority|(th|tcp|udp|sctp) dport)/.exec(text) ?? [];
    if (found.endsWith('saddr')) return [found, packet.saddr];
    if (found.endsWith('daddr')) return [found, packet.daddr];
    if (found.endsWith('l4proto')) return [found, packet.protocol];
    if (found.endsWith('priority')) return [found, String(packet.priority)];
    assert.ok(found.endsWith('dport'), `unknown expression: ${text}`);
    return [found, String(packet.dport)];
  }

  /** Whether a set contains a key; the last part of a member may be a range. */
  #has(set: string | undefined, key: string): boolean {
    const members = this.#set(set ?? '');
    if (members?.has(key) === true) return true;
    const cut = key.lastIndexOf(' . ') + 3;
    const head = cut < 3 ? '' : key.slice(0, cut);
    const address = parseAddress(key.slice(head.length));
    return [...(members?.keys() ?? [])].some((member) => {
      if (!member.includes('/') || !member.startsWith(head)) return false;
      const range = parseCidr(member.slice(head.length));
      return address !== undefined && range !== undefined && contains(range, address);
    });
  }
}

function verdictOf(text: string): Verdict {
  const [word, target = ''] = text.split(' ');
  if (word === 'goto') return { goto: target };
  if (word === 'jump') return { jump: target };
  if (word === 'drop' || word === 'return') return word;
  return assert.fail(`unknown verdict: ${text}`);
}
