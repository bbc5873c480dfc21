import { cut } from '../cut.ts';

/** Where a value stands in a document: a chain from the value up to the root, which is undefined. */
export type Path = Step | undefined;

interface Step {
  readonly parent: Path;
  /** The name of a field, or the index of an item. */
  readonly step: string | number;
}

/** The longest path that a message shows. */
const maxLength = 512;

/** `spec.ports[0].name`; a path that is too long to be read is cut. */
function printPath(path: Path): string {
  const steps: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.parent) steps.push(at.step);
  let text = '';
  for (const step of steps.reverse()) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += `${text === '' ? '' : '.'}${cut(step, maxLength)}`;
    if (text.length > maxLength) break;
  }
  return cut(text, maxLength);
}

/** Problems are listed up to this number, as in Kubernetes' strict decoder. */
export const maxProblems = 100;

export const unknownField = (path: Path): string => `unknown field ${JSON.stringify(printPath(path))}`;
export const duplicateField = (path: Path): string => `duplicate field ${JSON.stringify(printPath(path))}`;
