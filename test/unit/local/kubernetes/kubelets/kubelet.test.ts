/** A terminated instance must not leave listeners, or memory would grow in a long replay. */
import { getEventListeners } from 'node:events';
import { expect, it } from '@jest/globals';
import type { LocalInstance } from '../../../../../src/local/aws/types.ts';
import { Kubelet, type KubeletContext } from '../../../../../src/local/kubernetes/kubelets/kubelet.ts';
import type { KubeletConfig } from '../../../../../src/local/kubernetes/kubelets/userdata/index.ts';

it('removes its abort listener when its instance terminates', async () => {
  const end = new AbortController();
  const context = { parts: { signal: end.signal } } as unknown as KubeletContext;
  const kubelets = Array.from({ length: 3 }, () => new Kubelet({} as LocalInstance, {} as KubeletConfig, context));
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(3);
  for (const kubelet of kubelets) await kubelet.die();
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
});
