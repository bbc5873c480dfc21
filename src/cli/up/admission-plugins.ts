import type { AdmissionPlugins, PluginName } from '../../server/admission/plugins.ts';
import { defaultPlugins, pluginNames } from '../../server/admission/plugins.ts';
import { UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';

/** Reads `--enable-admission-plugins` and `--disable-admission-plugins`. Messages begin as kube-apiserver's do. */
export function readAdmissionPlugins(settings: Settings): AdmissionPlugins {
  const enabled = readNames(settings, 'enable-admission-plugins');
  const disabled = readNames(settings, 'disable-admission-plugins');
  const both = [...enabled.intersection(disabled)].sort();
  if (both.length > 0) {
    throw new UsageError(`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`);
  }
  if (disabled.has('NamespaceLifecycle')) {
    throw new UsageError('disable-admission-plugins plugin "NamespaceLifecycle" cannot be disabled in this server');
  }
  return new Set(pluginNames.filter((name) => enabled.has(name) || (defaultPlugins.has(name) && !disabled.has(name))));
}

function readNames(settings: Settings, flag: string): ReadonlySet<PluginName> {
  const given = (settings.get(flag) ?? []).flatMap((text) => text.split(',')).map((text) => text.trim());
  return new Set(
    given
      .filter((name) => name !== '')
      .map((text) => {
        const name = pluginNames.find((known) => known === text);
        if (name !== undefined) return name;
        throw new UsageError(`${flag} plugin ${JSON.stringify(text)} is unknown: expected ${pluginNames.join(', ')}`);
      }),
  );
}
