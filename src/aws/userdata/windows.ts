/** User data of Windows: EKS's bootstrap script in PowerShell, after the user's own commands. */
import type { Bootstrap } from './input.ts';
import { kubeletArguments } from './kubeletargs.ts';

export function windowsUserData({ cluster, kubelet, labels, taints, custom }: Bootstrap): string {
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
