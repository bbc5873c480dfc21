import { arch, platform } from 'node:os';

import type { Document } from './document.ts';
import { jsonDocument } from './document.ts';

/** The Kubernetes release whose API is served. kubectl warns when it is more than one minor version away. */
export const kubernetesVersion = { major: '1', minor: '35' } as const;

/** `/version`. `fairlead` is this program's own version. */
export const versionDocument = (fairlead: string): Document =>
  jsonDocument({
    ...kubernetesVersion,
    emulationMajor: kubernetesVersion.major,
    emulationMinor: kubernetesVersion.minor,
    minCompatibilityMajor: kubernetesVersion.major,
    minCompatibilityMinor: '34',
    gitVersion: `v${kubernetesVersion.major}.${kubernetesVersion.minor}.0+fairlead.${fairlead}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'node',
    platform: `${platform()}/${arch() === 'x64' ? 'amd64' : arch()}`,
  });
