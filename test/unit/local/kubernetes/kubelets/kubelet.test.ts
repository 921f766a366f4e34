/** What a machine leaves behind: nothing, or a replay of a month would grow with each. */
import { getEventListeners } from 'node:events';
import { expect, it } from '@jest/globals';
import type { LocalInstance } from '../../../../../src/local/aws/types.ts';
import { Kubelet, type KubeletContext } from '../../../../../src/local/kubernetes/kubelets/kubelet.ts';
import type { KubeletConfig } from '../../../../../src/local/kubernetes/kubelets/userdata/index.ts';

it('listens for the end of the world no longer when its machine has died', async () => {
  const end = new AbortController();
  const context = { parts: { signal: end.signal } } as unknown as KubeletContext;
  const kubelets = Array.from({ length: 3 }, () => new Kubelet({} as LocalInstance, {} as KubeletConfig, context));
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(3);
  for (const kubelet of kubelets) await kubelet.die();
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
});
