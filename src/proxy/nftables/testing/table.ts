// A model of a table: parses the nft commands that ruleset.ts writes, as strictly as nft 1.0.6.
import assert from 'node:assert/strict';

export interface Chain {
  readonly hook?: { readonly hook: string; readonly priority: number };
  readonly rules: string[];
}

/** The table before and after a transaction. */
export interface Commit {
  readonly before: Table;
  readonly after: Table;
}

/** One table: its objects by name. */
export class Table {
  readonly sets = new Map<string, Map<string, string>>();
  readonly chains = new Map<string, Chain>();

  /** Executes a transaction; throws what nft would reject. */
  run(commands: readonly string[]): void {
    for (const command of commands) this.#command(command);
  }

  copy(): Table {
    const copy = new Table();
    for (const [name, members] of this.sets) copy.sets.set(name, new Map(members));
    for (const [name, chain] of this.chains) copy.chains.set(name, { ...chain, rules: [...chain.rules] });
    return copy;
  }

  /** A copy for reading; sets that packets write are copied, others are shared. */
  view(): Table {
    const view = new Table();
    for (const [name, members] of this.sets)
      view.sets.set(name, name.startsWith('affinity-') ? new Map(members) : members);
    for (const [name, chain] of this.chains) view.chains.set(name, chain);
    return view;
  }

  #command(command: string): void {
    const [, verb = '', kind = '', , , name = '', rest = ''] =
      /^(\w+) (\w+) (ip6?) ([\w-]+)(?: ([\w-]+))?(?: (.*))?$/.exec(command) ?? [];
    const what = `${verb} ${kind}`;
    const set = this.sets.get(name);
    const chain = this.chains.get(name);
    if (what === 'add table') return;
    else if (what === 'add set' || what === 'add map') {
      if (set === undefined) this.sets.set(name, new Map());
    } else if (what === 'flush set' || what === 'flush map') set?.clear();
    else if (what === 'add chain') {
      const [, hook, priority] = /hook (\w+) priority (-?\d+)/.exec(rest) ?? [];
      const base = hook === undefined ? {} : { hook: { hook, priority: Number(priority) } };
      if (chain === undefined) this.chains.set(name, { ...base, rules: [] });
    } else if (what === 'flush chain') {
      assert.ok(chain, command);
      chain.rules.length = 0;
    } else if (what === 'delete chain') {
      for (const members of this.sets.values()) {
        for (const value of members.values()) assert.notEqual(value, `goto ${name}`, 'a chain in use is deleted');
      }
      assert.ok(this.chains.delete(name), command);
    } else if (what === 'add rule') {
      assert.ok(chain, command);
      for (const [, target = ''] of rest.matchAll(/@([\w-]+)/g)) assert.ok(this.sets.has(target), command);
      for (const [, target = ''] of rest.matchAll(/(?:goto|jump) ([\w-]+)/g))
        assert.ok(this.chains.has(target), command);
      chain.rules.push(rest);
    } else if (what === 'add element') this.#add(name, rest);
    else if (what === 'delete element') {
      for (const key of elementsIn(rest)) assert.ok(set?.delete(key), `${name}: no such element: ${key}`);
    } else assert.fail(`unknown command: ${command}`);
  }

  #add(name: string, rest: string): void {
    const set = this.sets.get(name);
    assert.ok(set, `no set ${name}`);
    for (const element of elementsIn(rest)) {
      const [key = '', value = ''] = element.split(' : ');
      const old = set.get(key);
      assert.ok(old === undefined || old === value, `${name}: ${key} exists with other data`);
      if (value.startsWith('goto ')) assert.ok(this.chains.has(value.slice(5)), `${name}: no chain for ${element}`);
      set.set(key, value);
    }
  }
}

const elementsIn = (text: string): readonly string[] => text.replace(/^\{ | \}$/g, '').split(', ');
