// Prints values as Go does, for some of Kubernetes' messages.

import { isJsonObject } from '../../api/schema/json-object.ts';
import { truncate } from '../../api/text.ts';
import { byKey } from '../../api/order.ts';
import { isList } from './json-value.ts';

/** The maximum length of a value in a message. */
const maxPrinted = 4096;

/** A JSON value as Go's %v prints it; long values are truncated. */
export function printGo(value: unknown): string {
  const printer = { text: '' };
  print(value, printer);
  return truncate(printer.text, maxPrinted);
}

interface Printer {
  text: string;
}

function print(value: unknown, printer: Printer): void {
  if (isList(value)) {
    printer.text += '[';
    printAll(value, printer, (item) => print(item, printer));
    printer.text += ']';
  } else if (isJsonObject(value)) {
    printer.text += 'map[';
    const fields = Object.entries(value).toSorted(byKey);
    printAll(fields, printer, ([key, below]) => {
      printer.text += `${truncate(key, maxPrinted)}:`;
      print(below, printer);
    });
    printer.text += ']';
  } else if (typeof value === 'string') {
    printer.text += truncate(value, maxPrinted);
  } else {
    printer.text += value === null ? '<nil>' : JSON.stringify(value);
  }
}

/** Prints items separated by spaces, until the text is long enough. */
function printAll<T>(items: readonly T[], printer: Printer, printItem: (item: T) => void): void {
  for (const [index, item] of items.entries()) {
    if (printer.text.length > maxPrinted) return;
    if (index > 0) printer.text += ' ';
    printItem(item);
  }
}

/** The Go type that holds a JSON value. */
export function goTypeOf(value: unknown): string {
  if (value === null) return '<nil>';
  if (isList(value)) return '[]interface {}';
  if (isJsonObject(value)) return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}

const goKinds: Readonly<Record<string, string>> = { number: 'int64', array: 'slice', object: 'map' };
const scalarTypes = new Set(['string', 'bool', 'int32', 'int64', 'float64']);
/** Types with a JSON decoder of their own, whose errors are those of JSON. */
const customTypes = new Set(['v1.Time', 'v1.MicroTime', 'resource.Quantity', 'intstr.IntOrString', '[]uint8']);

/** What precedes the type in an error about it. */
const typeMarker = ' of type ';

/** Kubernetes converts a strategically patched object without JSON, so errors about types have another text. */
export function printRestoreProblem(problem: string): string {
  const [, found = ''] = /^json: cannot unmarshal (\w+) /.exec(problem) ?? [];
  const at = problem.lastIndexOf(typeMarker);
  const type = at < 0 ? '' : problem.slice(at + typeMarker.length);
  if (found === '' || type === '' || customTypes.has(type)) return problem;
  const kind = goKinds[found] ?? found;
  if (/^json: cannot unmarshal number -?\d+\.\d/.test(problem)) return `cannot convert float64 to ${type}`;
  if (found === 'number' && type === 'string') return 'cannot convert int64 to string';
  if (type.startsWith('map[')) return `cannot restore map from ${kind}`;
  if (type.startsWith('[]')) return `cannot restore slice from ${kind}`;
  return scalarTypes.has(type) ? `unrecognized type: ${type}` : `cannot restore struct from: ${kind}`;
}
