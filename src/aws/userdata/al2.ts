/** User data of AL2: EKS's bootstrap script, after the custom scripts. */
import { messageOf } from '#lib';
import { isIpv6 } from '../cluster.ts';
import { type Bootstrap, InvalidUserData } from './input.ts';
import { kubeletArguments } from './kubeletargs.ts';
import { isMime, type MimePart, parseMime, writeMime } from './mime.ts';

const script = (content: string): MimePart => ({
  headers: { 'Content-Type': 'text/x-shellscript; charset="us-ascii"' },
  content,
});

function customParts(custom: string | undefined): readonly MimePart[] {
  if (custom === undefined || custom === '') return [];
  if (!isMime(custom)) return [script(custom)];
  try {
    return parseMime(custom);
  } catch (error) {
    throw new InvalidUserData(`parsing custom user data input, ${messageOf(error)}`, { cause: error });
  }
}

function bootstrapScript({ cluster, kubelet, labels, taints, raid0 }: Bootstrap): string {
  const ca = cluster.caBundle === undefined ? '' : `--b64-cluster-ca '${cluster.caBundle}'`;
  const dns = kubelet.clusterDNS?.[0];
  const call = [
    `/etc/eks/bootstrap.sh '${cluster.name}' --apiserver-endpoint '${cluster.endpoint}' ${ca}`,
    ...(isIpv6(dns) ? ['--ip-family ipv6'] : []),
    ...(dns === undefined ? [] : [`--dns-cluster-ip '${dns}'`]),
    '--use-max-pods false',
    `--kubelet-extra-args '${kubeletArguments(kubelet, { labels, taints })}'`,
    ...(raid0 ? ['--local-disks raid0'] : []),
  ].join(' \\\n');
  return `#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n${call}`;
}

/** @throws InvalidUserData */
export const al2UserData = (bootstrap: Bootstrap): string =>
  writeMime([...customParts(bootstrap.custom), script(bootstrapScript(bootstrap))]);
