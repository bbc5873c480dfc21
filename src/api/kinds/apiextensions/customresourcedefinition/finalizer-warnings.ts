import { qualifiedNameErrors } from '../../../names.ts';

const standard: readonly string[] = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** Warnings about the names of finalizers that a write adds. */
export function finalizerWarnings(next: readonly string[] = [], before: readonly string[] = []): readonly string[] {
  const added = [...new Set(next)].filter((name) => !before.includes(name)).sort();
  return added.flatMap((name) => {
    const shown = `metadata.finalizers: ${JSON.stringify(name)}: `;
    const warnings = qualifiedNameErrors(name).map((problem) => shown + problem);
    if (name.includes('/') || standard.includes(name)) return warnings;
    const path = name.includes('.') ? ' including a path (/)' : '';
    return [
      ...warnings,
      `${shown}prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
    ];
  });
}
