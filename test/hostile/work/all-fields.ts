import { kinds } from '../../../src/api/kinds/registry.ts';
import { WorkCounter } from './counter.ts';
import { customFields } from './custom-kinds.ts';
import { isWritten, longFields } from './fields.ts';
import { growthProblems } from './growth.ts';

/** Counts the work of every verb for all fields whose path contains the text; resolves with the problems. */
export async function checkFields(text: string, print: (line: string) => void): Promise<string[]> {
  const counter = new WorkCounter();
  const problems: string[] = [];
  for (const all of [
    ...kinds.filter((each) => each.gate === undefined && isWritten(each)).map(longFields),
    customFields(),
  ]) {
    const fields = all.filter(({ kind, path }) => `${kind.kind}.${path.join('.')}`.includes(text));
    const started = performance.now();
    for (const field of fields) {
      for (const problem of await growthProblems(field, counter)) {
        problems.push(problem);
        print(problem);
      }
    }
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    const [first] = fields;
    if (first !== undefined) print(`${first.kind.kind} ${first.kind.version}: ${fields.length} fields in ${seconds} s`);
  }
  return problems;
}
