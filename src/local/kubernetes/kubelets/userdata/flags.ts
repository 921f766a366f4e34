/** The kubelet's command line in user data scripts. */
import { type KubeletConfig, NO_CONFIG, parsePairs, parseTaints, wholeNumber } from './config.ts';

/** Parses the options of a command line: `--name=value` or `--name value`. The last occurrence wins. */
export function options(args: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [index, word] of args.entries()) {
    const option = /^--([\w-]+)(?:=([\s\S]*))?$/.exec(word);
    if (!option?.[1]) continue;
    const next = args[index + 1];
    found.set(option[1], option[2] ?? (next === undefined || next.startsWith('--') ? 'true' : next));
  }
  return found;
}

/**
 * Returns the configuration from kubelet flags.
 * @throws Error if a taint cannot be parsed
 */
export function configOfFlags(flags: ReadonlyMap<string, string>): KubeletConfig {
  const maxPods = wholeNumber(flags.get('max-pods'));
  const podsPerCore = wholeNumber(flags.get('pods-per-core'));
  return {
    ...NO_CONFIG,
    labels: parsePairs(flags.get('node-labels') ?? ''),
    taints: parseTaints(flags.get('register-with-taints') ?? ''),
    kubeReserved: parsePairs(flags.get('kube-reserved') ?? ''),
    systemReserved: parsePairs(flags.get('system-reserved') ?? ''),
    evictionHard: parsePairs(flags.get('eviction-hard') ?? '', '<'),
    ...(maxPods === undefined ? {} : { maxPods }),
    ...(podsPerCore === undefined ? {} : { podsPerCore }),
  };
}
