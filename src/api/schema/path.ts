import { truncate } from '../text.ts';

/** The position of a value in a document: a linked list from the value to the root, which is undefined. */
export type Path = Step | undefined;

interface Step {
  readonly parent: Path;
  /** The name of a field, or the index of an item. */
  readonly step: string | number;
}

/** Longer paths are truncated in messages. */
const maxLength = 512;

/** `spec.ports[0].name`, truncated. */
function printPath(path: Path): string {
  const steps: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.parent) steps.push(at.step);
  let text = '';
  for (const step of steps.reverse()) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += `${text === '' ? '' : '.'}${truncate(step, maxLength)}`;
    if (text.length > maxLength) break;
  }
  return truncate(text, maxLength);
}

/** The limit on reported problems, as in Kubernetes' strict decoder. */
export const maxProblems = 100;

export const unknownField = (path: Path): string => `unknown field ${JSON.stringify(printPath(path))}`;
export const duplicateField = (path: Path): string => `duplicate field ${JSON.stringify(printPath(path))}`;
