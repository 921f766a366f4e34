/** Shell scripts: EKS's bootstrap.sh, and custom scripts that start a kubelet. */
import type { Taint } from '../../../../api/kubernetes.ts';
import { shellWords } from '../../../../lib/shell-words.ts';
import { type KubeletConfig, NO_CONFIG } from './config.ts';
import { configOfFlags, options } from './flags.ts';

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
