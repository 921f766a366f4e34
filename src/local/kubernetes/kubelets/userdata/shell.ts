/** Shell scripts: EKS's bootstrap.sh, and others that start a kubelet their own way. */
import type { Taint } from '../../../../api/kubernetes.ts';
import { type KubeletConfig, NO_CONFIG } from './config.ts';
import { configOfFlags, options, words } from './flags.ts';

/** What an image of one's own must register with when Karpenter cannot tell it in user data. */
const UNREGISTERED: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

/** The commands of a script, lines that end in a backslash joined. */
const commands = (script: string): readonly string[] =>
  script
    .replace(/\\\r?\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** Arguments of bootstrap.sh: every option takes a value, whatever it looks like; the rest is positional. */
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

/** Reads `/etc/eks/bootstrap.sh CLUSTER …`; undefined when the script does not call it. */
export function bootstrapScript(script: string): KubeletConfig | undefined {
  const line = commands(script).find((command) => /(^|\s)\/etc\/eks\/bootstrap\.sh\s/.test(command));
  if (line === undefined) return undefined;
  const all = words(line);
  const { flags, rest } = bootstrapArguments(all.slice(all.indexOf('/etc/eks/bootstrap.sh') + 1));
  const endpoint = flags.get('apiserver-endpoint');
  const [clusterName] = rest;
  return {
    ...configOfFlags(options(words(flags.get('kubelet-extra-args') ?? ''))),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(endpoint === undefined ? {} : { endpoint }),
    raid0: flags.get('local-disks') === 'raid0',
  };
}

/**
 * Any other script: takes the kubelet flags it finds. One that says nothing of taints joins with the unregistered
 * taint, as the image of a custom family has to.
 */
export function anyScript(script: string): KubeletConfig {
  const flags = new Map(commands(script).flatMap((command) => [...options(words(command))]));
  const config = configOfFlags(flags);
  return flags.has('register-with-taints') ? config : { ...NO_CONFIG, ...config, taints: [UNREGISTERED] };
}

/** Windows: `Start-EKSBootstrap.ps1` with its parameters; undefined when the script does not call it. */
export function powershell(script: string): KubeletConfig | undefined {
  if (!script.includes('-EKSClusterName')) return undefined;
  const parameter = (name: string): string | undefined => new RegExp(`-${name}\\s+'([^']*)'`).exec(script)?.[1];
  const clusterName = parameter('EKSClusterName');
  const endpoint = parameter('APIServerEndpoint');
  return {
    ...configOfFlags(options(words(parameter('KubeletExtraArgs') ?? ''))),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}
