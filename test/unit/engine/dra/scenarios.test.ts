/** Table of the scenarios of device allocation, and the test that shows each of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const UNIT = join(import.meta.dirname, '../..');

/** Titles of tests by scenario, by file. */
const SCENARIOS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'engine/dra/allocated-claims.test.ts': {
    'claims are ignored': 'is refused if dynamic resource allocation is ignored: $parts',
    'an entry for a template has no status, or a status without a name': 'is refused or scheduled if $when',
    'two claims are allocated in different zones': 'is refused if no node reaches the devices of all claims',
    'a claim is allocated on the node of a pending pod': 'stays on the node that contains its devices',
  },
  'engine/dra/solve.test.ts': {
    'one device, and a cheaper type without devices': 'has the devices that its pods claim, and lists the drivers',
    'a pod without claims in the same solve': 'lists no drivers and no more expensive types for pods without claims',
    'two or three pods for two devices': 'holds as many pods as it has devices: %d pods',
    'mode All, and the next pod': 'belongs to one pod if it requests all devices',
    'a class does not exist': 'is not launched while the class does not exist',
    'no source of devices': 'is not launched for claims that no type satisfies, and the reason names the driver',
    'the kinds are not served or forbidden':
      'is not launched while the kinds cannot be read, but pods without claims get nodes',
    'a search over the limit': 'is not launched for expensive searches, which cost only their own pod',
    'an invalid, long or expensive selector': 'is launched for other pods if a pod has a selector %s',
    'minValues after the types without devices left': 'satisfies minValues after the types without devices are removed',
    'limits of a NodePool': 'counts for the limits of its NodePool with its resources only',
    'a pod of a capacity buffer': 'reserves the devices that its template would claim',
    'an extended resource of a class': 'counts free devices of an initialized node without a device plugin: %s',
    'the implicit resource of a class': 'takes devices of new nodes %s',
  },
  'engine/dra/daemon-claims.test.ts': {
    'a DaemonSet with claims': 'takes devices of new nodes before other pods',
    'a claim that all pods of a DaemonSet share': 'takes devices of the first node in flight, and of no new node',
  },
  'engine/dra/existing-nodes.test.ts': {
    'pods that were bound before the initialization of their node':
      'counts the devices of pods that were bound to it before its initialization',
    'a free or taken device of an initialized node': 'is used if a published device is free',
    'a node before and after its initialization':
      'counts the templates until it is initialized, and then the published devices',
    'pods of a suspended driver on a node before its initialization':
      'keeps, for a suspended driver, the pods that were nominated to it before its initialization, and no others',
    'a pod of an allocated claim': 'keeps the pods of an allocated claim',
    'a shared claim and one new node': 'keeps its pods on one new node',
    'a shared claim of pods that need a larger node': 'chooses a type that has room for all its pods',
    'a shared claim and a pod that does not fit': 'refuses a pod that does not fit on that node',
    'a shared claim for the network': 'narrows all its pods if it is on the network',
    'a consolidated node whose claims are ignored': 'is impossible while claims are ignored',
    'a consolidated node with a free device elsewhere': 'moves the pod to a free device elsewhere',
    'a consolidated node without a device elsewhere': 'is impossible if no other device exists',
    'two moving pods of one claim': 'moves two pods that share a claim to one node',
    'a moving and a staying pod of one claim': 'keeps a claim for the network that a pod on another node shares',
    'a consumer that ended': 'is not used if its devices are taken',
  },
  'engine/dra/allocator.test.ts': {
    'a pool with missing slices, ExactCount and All':
      'is not used if slices of its pool are missing, and a request for all devices fails',
    'a newer generation with fewer slices': 'is not used if it is of an older generation',
    'a duplicate device name': 'is not used if its pool has duplicate names',
    'mode All with two and four devices, and with 33 devices': 'needs every device if it is for all devices',
    'a count of 33': 'is refused for every node with %s',
    firstAvailable: 'uses the first alternative that is possible',
    'a device of another zone': 'narrows the node if it is on the network',
    'one device for all nodes': 'is not taken twice if it is on the network',
    'devices with their own node selection': 'is not combined with devices of different places',
    'a device taint': 'excludes a device unless the request tolerates it',
    'a DeviceTaintRule': 'applies to the devices that its rule selects',
    'capacity and counters for administrative access':
      'needs capacity and counters with administrative access, as in kube-scheduler',
    'administrative access': 'uses devices that are taken, and takes none, with administrative access',
    'a selector on an attribute of running nodes': 'is explained if it reads attributes of running nodes',
    'a selector that fails on a published device': 'refuses the node if it fails on a published device',
    'types that leave a planned node': 'is free again for types that the node does not have in the end',
  },
  'engine/dra/allocator-sharing.test.ts': {
    'matchAttribute on values': 'keeps devices with one value',
    'matchAttribute on values of running nodes': 'compares values of running nodes by their groups',
    distinctAttribute: 'keeps devices with different values',
    'GPUs and interfaces of one PCIe root': 'aligns devices of two drivers',
    'shares of a device': 'serves claims until its capacity is used',
    'requests outside a policy': 'is used by %s',
    'the default of a policy':
      'is used completely without a request and policy, and by the default of the policy otherwise',
    'partitions of a GPU': 'shares the counters of its device',
    'an unknown counter set': 'is not used if its counters are unknown',
    'capacity names with a domain': 'needs names of capacity as the driver writes them',
    'mode All on devices that are shared':
      'does not count without enough remaining capacity for a request for all devices',
    'one of two claims of a shared device moves':
      'counts the consumed capacity of the cluster, except of claims that move',
    'eight of 16 devices': 'tries 8 of 16 devices in few steps if no combination is possible',
  },
  'engine/dra/hostile-slices.test.ts': { 'slices beyond the limits of the API': 'costs only its own pool' },
  'aws/dra/static-templates.test.ts': {
    'GPUs and EFA interfaces of g6 and p5, and all EFA interfaces with one GPU':
      'aligns GPUs with the EFA interfaces of their PCIe root',
  },
  'aws/launchtemplates/template-data.test.ts': { 'EFA interfaces of a claim at launch': 'dra.net' },
  'controllers/nodeclaim/devices.test.ts': { 'an extended resource without a device plugin': 'DeviceClass' },
  'controllers/devicetemplates/operator.test.ts': {
    'a driver that never publishes': 'gets one node if the driver never publishes',
    'a driver that publishes fewer devices': 'gets one node if the driver publishes fewer devices',
    'a static NodePool': 'does not delay the nodes of a static NodePool',
    'a claim and a class that are created later': 'gets a node after its claim and its class are created',
    'the default settings': 'stays pending by default',
  },
  'state/devices/sources.test.ts': {
    'devices learned from a living node': 'comes from declarations, then living nodes, then the table of the provider',
    'declared devices override others': 'comes from declarations, then living nodes, then the table of the provider',
    'learned devices after the last node': 'is remembered, also after a restart',
  },
  'controllers/devicetemplates/declared-source.test.ts': {
    'an invalid document beside a valid one': 'reports invalid documents',
  },
  '../cluster/chart.test.ts': { 'the value ignoreDRARequests: false': 'ignoreDRARequests' },
};

it.each(Object.entries(SCENARIOS))('has a test in %s for each scenario', (file, titles) => {
  const text = readFileSync(join(UNIT, file), 'utf8');
  expect(Object.entries(titles).filter(([, title]) => !text.includes(title))).toEqual([]);
});
