import { edited } from './edited.ts';
import type { PodSpec } from './schema.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];

const readableMode = 0o644;

const withMode = <T extends { readonly defaultMode?: number }>(source: T): T => ({
  ...source,
  defaultMode: source.defaultMode ?? readableMode,
});

/** Fills in a volume; one that names no source is an empty directory. */
export function volumeDefaults(given: Volume): Volume {
  if (Object.keys(given).length === 1) return { ...given, emptyDir: {} };
  const hostPath = edited(given, 'hostPath', (source) => ({ ...source, type: source.type ?? '' }));
  const secret = edited(hostPath, 'secret', withMode);
  const configMap = edited(secret, 'configMap', withMode);
  const downward = edited(configMap, 'downwardAPI', withMode);
  return edited(downward, 'projected', (source) => ({
    ...withMode(source),
    ...(source.sources && {
      sources: source.sources.map((part) =>
        edited(part, 'serviceAccountToken', (token) => ({
          ...token,
          expirationSeconds: token.expirationSeconds ?? 3600,
        })),
      ),
    }),
  }));
}
