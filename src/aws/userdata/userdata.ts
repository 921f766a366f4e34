/** Renders the user data that a node runs at its first boot. */
import type { EC2NodeClass } from '#api/objects';
import type { Logger } from '#observe/logger';
import { type AmiFamily, aliasOf } from '../amis/families.ts';
import { al2UserData } from './al2.ts';
import { al2023UserData } from './al2023.ts';
import { bottlerocketUserData } from './bottlerocket.ts';
import { type Bootstrap, InvalidUserData } from './input.ts';
import { kubeletArguments } from './kubeletargs.ts';

/** EC2 accepts 16 KiB. Much longer texts are not parsed at all. */
const MAX_CUSTOM = 65_536;

/**
 * Returns plain text, which EC2 requires in base64.
 * @throws InvalidUserData, NodeClassNotReady
 */
export function renderUserData(family: AmiFamily, bootstrap: Bootstrap, log: Logger): string {
  const length = bootstrap.custom?.length ?? 0;
  if (length > MAX_CUSTOM) throw new InvalidUserData(`it has ${length} characters, but EC2 allows 16384 bytes`);
  switch (family.name) {
    case 'AL2023':
      return al2023UserData(bootstrap);
    case 'Bottlerocket':
      return bottlerocketUserData(bootstrap, log);
    case 'Custom':
      return bootstrap.custom ?? '';
    case 'AL2':
      return al2UserData(bootstrap);
    case 'Windows2019':
    case 'Windows2022':
    case 'Windows2025':
      return windowsUserData(bootstrap);
  }
}

const versionIn = (name: string): string | undefined =>
  name.split('-').find((piece) => piece.startsWith('v') && piece.includes('.'));

/** Returns the Bottlerocket version of a NodeClass's images, if their names contain it. */
export function bottlerocketVersion(nodeClass: EC2NodeClass): string | undefined {
  const alias = aliasOf(nodeClass);
  if (alias !== undefined) return alias.version;
  const terms = nodeClass.spec.amiSelectorTerms;
  const images = (nodeClass.status?.amis ?? []).filter((ami) => (ami.name ?? '').includes('bottlerocket'));
  const byId = images.filter((ami) => terms.some((term) => term.id === ami.id));
  const names = [...terms.map((term) => term.name), ...byId.map((ami) => ami.name), ...images.map((ami) => ami.name)];
  return names.map((name) => versionIn(name ?? '')).find((version) => version !== undefined);
}

/** Returns the user data of Windows: the PowerShell bootstrap script of EKS, after the custom commands. */
function windowsUserData({ cluster, kubelet, labels, taints, custom }: Bootstrap): string {
  const dns = kubelet.clusterDNS?.[0];
  const call = [
    `& $EKSBootstrapScriptFile -EKSClusterName '${cluster.name}' -APIServerEndpoint '${cluster.endpoint}'`,
    ...(cluster.caBundle === undefined ? [] : [`-Base64ClusterCA '${cluster.caBundle}'`]),
    `-KubeletExtraArgs '${kubeletArguments(kubelet, { labels, taints })}'`,
    ...(dns === undefined ? [] : [`-DNSClusterIP '${dns}'`]),
  ].join(' ');
  return [
    '<powershell>',
    ...(custom === undefined || custom === '' ? [] : [custom]),
    '[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"',
    call,
    '</powershell>',
  ].join('\n');
}
