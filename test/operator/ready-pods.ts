/** Deployments of one pod that request a surge, and a watch for times without a ready pod. */
import { getCondition, type KubeObject, POD, type Pod } from '#api/objects';
import { connectReader } from '#kube/connection';
import { deployment, type Scenario } from './harness.ts';

/** Annotation that requests a surge. */
export const SURGE = { 'karpenter-ts.sh/surge': 'true' };

/** Returns a Deployment of one pod with annotations of its pod template. */
export function single(name: string, annotations: Record<string, string>, spec: object = {}): KubeObject {
  const made = deployment(name, 1, {}, { cpu: '1200m' }) as KubeObject & {
    readonly spec: { readonly template: { readonly metadata: object } };
  };
  const { template } = made.spec;
  const annotated = { ...template, metadata: { ...template.metadata, annotations } };
  return { ...made, spec: { ...made.spec, ...spec, template: annotated } } as KubeObject;
}

/** Follows all pods. Collects the apps that were ready and have no ready pod for any time. */
export async function watchReady({ world }: Scenario): Promise<{ readonly lost: readonly string[]; stop(): void }> {
  const stop = new AbortController();
  const { clock, kube } = world;
  const client = connectReader({ clock, userAgent: 'test', kubeconfig: kube.kubeconfig() });
  const pods = new Map<string | undefined, Pod>();
  const seen = new Set<string>();
  const lost: string[] = [];
  const isReady = (pod: Pod): boolean =>
    getCondition(pod, 'Ready')?.status === 'True' && pod.metadata.deletionTimestamp === undefined;
  const opened = Promise.withResolvers<void>();
  const follow = async (): Promise<void> => {
    const request = { resourceVersion: '0', signal: stop.signal, onOpen: () => opened.resolve() };
    for await (const event of client.watch(POD, request)) {
      if (event.type === 'BOOKMARK') continue;
      const { labels, uid } = event.object.metadata;
      const app = labels?.app;
      if (app === undefined) continue;
      if (event.type === 'DELETED') pods.delete(uid);
      else pods.set(uid, event.object);
      if ([...pods.values()].some((pod) => pod.metadata.labels?.app === app && isReady(pod))) seen.add(app);
      else if (seen.delete(app)) lost.push(app);
    }
  };
  follow().catch(opened.reject);
  await opened.promise;
  return {
    lost,
    stop: () => {
      stop.abort();
      client.close();
    },
  };
}
