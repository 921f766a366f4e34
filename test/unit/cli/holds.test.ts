/** Pods that the operator holds back. They stay pending, and no nodes are launched for them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { simulate } from '../../../src/cli/simulate.ts';

const OBJECTS = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
---
apiVersion: v1
kind: Pod
metadata: {name: held, namespace: default}
spec: {containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: free, namespace: default}
spec: {containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
`;
const HOLD = {
  pod: 'default/held',
  text: 'nodes were bought for such pods in vain',
  since: '2026-06-03T10:30:00Z',
  until: '2026-06-03T10:40:00Z',
};

it('omits and reports pods that the operator holds back in simulate', async () => {
  const served: Readonly<Record<string, unknown>> = {
    '/debug/instancetypes': { instanceTypes: [] },
    '/debug/holds': [HOLD],
  };
  const server = createServer(({ url = '' }, response) => response.end(JSON.stringify(served[url])));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'holds-'));
  const file = join(folder, 'objects.yaml');
  writeFileSync(file, OBJECTS);
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { simulation, waiting, notes } = await simulate({ filename: [file], instanceTypes: url });
    expect(Object.keys(simulation.unschedulable)).toEqual(['default/free']);
    expect(waiting.map(({ pod: { metadata } }) => metadata.name)).toEqual(['held']);
    expect(notes).toContain(
      'the operator holds pod default/held back until 2026-06-03T10:40:00Z: nodes were bought for such pods in vain',
    );
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});
