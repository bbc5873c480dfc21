// Writes the generated pages and dashboards: `npm run docs`. With --check it fails if one of them is out of date, as `npm run check` does, but
// for the metrics: they are scraped from a cluster, which is left to the system tests.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { root } from '../harness/process.ts';
import { chartFiles } from './chart.ts';
import { dashboardFiles } from './dashboards.ts';
import { definitionsFile } from './definitions.ts';
import { flagsPage } from './flags.ts';
import { withMetrics } from './metrics.ts';
import { withRequirements } from './requirements.ts';

const isCheck = process.argv[2] === '--check';

/** Path → the current text. */
const pages: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/explanation/proposals.md': withRequirements,
  'docs/reference/flags.md': flagsPage,
  'examples/multicluster/definitions.yaml': definitionsFile,
  ...chartFiles,
  ...Object.fromEntries(Array.from(dashboardFiles, ([path, text]) => [path, () => text])),
  ...(isCheck ? {} : { 'docs/reference/metrics.md': withMetrics }),
};

for (const [page, generate] of Object.entries(pages)) {
  const path = join(root, page);
  const text = await generate();
  if (existsSync(path) && text === readFileSync(path, 'utf8')) continue;
  if (isCheck) {
    console.error(`${page} is out of date: run npm run docs`);
    process.exitCode = 1;
  } else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
