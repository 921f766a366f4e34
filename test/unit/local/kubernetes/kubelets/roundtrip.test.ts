/** Instances of the local world understand all user data that the provider renders. */
import { describe, expect, it } from '@jest/globals';

import type { EC2NodeClass, Taint } from '#api/objects';
import { familyOf } from '#aws/node-classes';
import { renderUserData } from '#aws/testing';
import { silent } from '#observe/logger';
import { decodeUserData } from '../../../../../src/local/kubernetes/kubelets/userdata/index.ts';

const labels = { 'karpenter.sh/nodepool': 'default', 'karpenter.sh/capacity-type': 'spot', team: 'x' };
const taints: readonly Taint[] = [
  { key: 'team', value: 'x', effect: 'NoSchedule' },
  { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
];
const kubelet = {
  maxPods: 42,
  kubeReserved: { cpu: '200m' },
  systemReserved: { memory: '100Mi' },
  evictionHard: { 'memory.available': '5%' },
};
const bootstrap = {
  cluster: { name: 'local', endpoint: 'http://127.0.0.1:8080', caBundle: 'Y2E=', dnsIp: '10.100.0.10' },
  cidr: '10.100.0.0/16',
  labels,
  taints,
  kubelet,
  rawKubelet: kubelet,
  raid0: false,
};
const family = (amiFamily: NonNullable<EC2NodeClass['spec']['amiFamily']>) =>
  familyOf({ spec: { amiFamily, amiSelectorTerms: [] } } as unknown as EC2NodeClass);

/** Custom user data that each family accepts. */
const CUSTOM = {
  AL2: '#!/bin/bash\necho before',
  AL2023: '#!/bin/bash\necho before',
  Bottlerocket: "[settings.kubernetes]\nallowed-unsafe-sysctls = ['net.core.somaxconn']\n",
  Windows2022: 'Write-Host before',
} as const;

describe('the user data of the provider', () => {
  it.each(
    (Object.keys(CUSTOM) as (keyof typeof CUSTOM)[]).flatMap((name) => [
      [name, undefined] as const,
      [name, CUSTOM[name]] as const,
    ]),
  )('starts a kubelet with the configuration for %s, with %j before it', (name, custom) => {
    const config = decodeUserData(renderUserData(family(name), { ...bootstrap, custom }, silent));
    expect(config).toMatchObject({
      clusterName: 'local',
      endpoint: 'http://127.0.0.1:8080',
      labels,
      maxPods: 42,
      ...{ kubeReserved: kubelet.kubeReserved, systemReserved: kubelet.systemReserved },
      evictionHard: kubelet.evictionHard,
    });
    const ordered = (list: readonly Taint[]) => [...list].sort((a, b) => (a.key < b.key ? -1 : 1));
    expect(ordered(config.taints)).toEqual(ordered(taints));
  });

  it.each(['AL2', 'AL2023', 'Bottlerocket'] as const)('configures local disks as a RAID for %s', (name) => {
    const text = renderUserData(family(name), { ...bootstrap, custom: undefined, raid0: true }, silent);
    expect(decodeUserData(text).raid0).toBe(true);
  });
});
