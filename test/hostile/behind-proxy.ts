/** Starts a hostile world with a proxy between the operator and the API server, which can rewrite responses. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { type RewritingProxy, startRewritingProxy } from './rewriting-proxy.ts';

export interface BehindProxy {
  readonly hostile: HostileWorld;
  readonly proxy: RewritingProxy;
  stop(): Promise<void>;
}

export async function startBehindProxy(): Promise<BehindProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-api-'));
  const { promise: started, resolve } = Promise.withResolvers<RewritingProxy>();
  const hostile = await startHostileWorld({
    via: async ({ kube }) => {
      const proxy = await startRewritingProxy(kube.url);
      resolve(proxy);
      const kubeconfig = join(folder, 'kubeconfig');
      writeFileSync(kubeconfig, kube.kubeconfig().replaceAll(kube.url, proxy.url));
      return { env: { KUBECONFIG: kubeconfig } };
    },
  });
  const proxy = await started;
  return {
    hostile,
    proxy,
    async stop() {
      await hostile.stop();
      await proxy.close();
      rmSync(folder, { recursive: true });
    },
  };
}
