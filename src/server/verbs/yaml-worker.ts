// The worker thread that parses large YAML documents.

import { parentPort } from 'node:worker_threads';

import { TooManyValuesError } from '../../api/schema/value-budget.ts';
import { parseYamlDocument, YamlError } from '../../api/schema/yaml.ts';
import type { YamlReply } from './yaml-thread.ts';

function parse(text: string): YamlReply {
  try {
    const { value, duplicates } = parseYamlDocument(text);
    // As text, since a structured clone costs the receiver more than parsing JSON.
    return { is: 'parsed', json: JSON.stringify(value), duplicates };
  } catch (error) {
    if (error instanceof TooManyValuesError) return { is: 'too many values' };
    if (error instanceof YamlError) return { is: 'malformed', why: error.message };
    throw error;
  }
}

parentPort?.on('message', (text: string) => parentPort?.postMessage(parse(text)));
