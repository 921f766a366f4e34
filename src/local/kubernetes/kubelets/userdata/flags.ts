/** The kubelet's command line in user data scripts: EKS's bootstrap.sh, PowerShell, and custom scripts. */

import type { Taint } from '#api/objects';
import { shellWords } from '#lib';
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

/** Taint with which custom images must register, because Karpenter cannot set it in their user data. */
const UNREGISTERED: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

/** Returns the commands of a script. Lines that end in a backslash are joined. */
const commands = (script: string): readonly string[] =>
  script
    .replace(/\\\r?\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/**
 * Parses arguments of bootstrap.sh. Every option takes the next argument as its value. The remaining arguments are
 * positional.
 */
function bootstrapArguments(args: readonly string[]): { flags: ReadonlyMap<string, string>; rest: readonly string[] } {
  const flags = new Map<string, string>();
  const rest: string[] = [];
  const left = args.values();
  for (const word of left) {
    if (!word.startsWith('--')) rest.push(word);
    else {
      const [name = '', value] = word.slice(2).split(/=(.*)/s);
      flags.set(name, value ?? left.next().value ?? '');
    }
  }
  return { flags, rest };
}

/** Parses `/etc/eks/bootstrap.sh CLUSTER …`. Returns undefined if the script does not call it. */
export function bootstrapScript(script: string): KubeletConfig | undefined {
  const line = commands(script).find((command) => /(^|\s)\/etc\/eks\/bootstrap\.sh\s/.test(command));
  if (line === undefined) return undefined;
  const all = shellWords(line);
  const { flags, rest } = bootstrapArguments(all.slice(all.indexOf('/etc/eks/bootstrap.sh') + 1));
  const endpoint = flags.get('apiserver-endpoint');
  const [clusterName] = rest;
  return {
    ...configOfFlags(options(shellWords(flags.get('kubelet-extra-args') ?? ''))),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(endpoint === undefined ? {} : { endpoint }),
    raid0: flags.get('local-disks') === 'raid0',
  };
}

/**
 * Reads kubelet flags from any other script. If the script has no taints, adds the unregistered taint, as the image of
 * a custom AMI family must do.
 */
export function anyScript(script: string): KubeletConfig {
  const flags = new Map(commands(script).flatMap((command) => [...options(shellWords(command))]));
  const config = configOfFlags(flags);
  return flags.has('register-with-taints') ? config : { ...NO_CONFIG, ...config, taints: [UNREGISTERED] };
}

/** Parses the parameters of `Start-EKSBootstrap.ps1` on Windows. Returns undefined if the script does not call it. */
export function powershell(script: string): KubeletConfig | undefined {
  if (!script.includes('-EKSClusterName')) return undefined;
  const parameter = (name: string): string | undefined => new RegExp(`-${name}\\s+'([^']*)'`).exec(script)?.[1];
  const clusterName = parameter('EKSClusterName');
  const endpoint = parameter('APIServerEndpoint');
  return {
    ...configOfFlags(options(shellWords(parameter('KubeletExtraArgs') ?? ''))),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}
