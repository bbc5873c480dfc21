import { loadAll } from 'js-yaml';
import { messageOf } from '../../api/error-message.ts';
import { AnswerError } from './errors.ts';

/** The objects of a manifest. Aliases are rejected: a few lines of them can be a document larger than the memory. */
export function objectsIn(manifest: string): readonly Readonly<Record<string, unknown>>[] {
  let documents: readonly unknown[];
  try {
    documents = loadAll(manifest, { maxAliases: 0, maxDepth: 100 });
  } catch (cause) {
    throw new AnswerError(400, `the manifest is not YAML: ${messageOf(cause)}`, { cause });
  }
  const objects = documents.filter((document) => typeof document === 'object' && document !== null);
  if (objects.length === 0) throw new AnswerError(400, 'the manifest is empty: paste one with apiVersion and kind');
  return objects as readonly Readonly<Record<string, unknown>>[]; // checked above
}
