/** Table of the scenarios of device allocation, and the test that shows each of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const UNIT = join(import.meta.dirname, '../..');

/** Titles of tests by scenario, by file. */
const SCENARIOS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'engine/dra/allocated-claims.test.ts': {
    'claims are ignored': 'are refused if dynamic resource allocation is ignored',
    'an entry for a template has no status, or a status without a name': 'are refused or scheduled if $when',
    'two claims are allocated in different zones': 'are refused if no node reaches the devices of all claims',
    'a claim is allocated on the node of a pending pod': 'stay on the node that contains their devices',
  },
  'engine/dra/solve.test.ts': {
    'one device, and a cheaper type without devices': 'have the devices that their pods claim, and list the drivers',
    'a pod without claims in the same solve': 'of pods without claims list no drivers and no more expensive types',
    'two or three pods for two devices': 'hold as many pods as they have devices',
    'mode All, and the next pod': 'belong to one pod if it requests all devices',
    'a class does not exist': 'are not launched while the class does not exist',
    'no source of devices': 'are not launched for claims that no type satisfies',
    'the kinds are not served or forbidden': 'are not launched while the kinds cannot be read',
    'a search over the limit': 'are not launched for expensive searches, which cost only their own pod',
    'an invalid, long or expensive selector': 'are launched for other pods if a pod has a selector %s',
    'minValues after the types without devices left': 'satisfy minValues after the types without devices are removed',
    'limits of a NodePool': 'count for the limits of their NodePool with their resources only',
    'a pod of a capacity buffer': 'reserve the devices that their templates would claim',
    'an extended resource of a class': 'are free devices of an initialized node without a device plugin',
    'the implicit resource of a class': 'take devices of new nodes %s',
  },
  'engine/dra/daemon-claims.test.ts': {
    'a DaemonSet with claims': 'take devices of new nodes before other pods',
    'a claim that all pods of a DaemonSet share': 'take devices of the first node in flight, and of no new node',
  },
  'engine/dra/existing-nodes.test.ts': {
    'pods that were bound before the initialization of their node':
      'count the devices of pods that were bound to them before their initialization',
    'a free or taken device of an initialized node': 'are used if a published device is free',
    'a node before and after its initialization': 'count the templates until they are initialized',
    'pods of a suspended driver on a node before its initialization':
      'of a suspended driver keep the pods that were nominated to them',
    'a pod of an allocated claim': 'keep the pods of an allocated claim',
    'a shared claim and one new node': 'keep their pods on one new node',
    'a shared claim of pods that need a larger node': 'choose a type that has room for all their pods',
    'a shared claim and a pod that does not fit': 'refuse a pod that does not fit on that node',
    'a shared claim for the network': 'on the network narrow all their pods',
    'a consolidated node whose claims are ignored': 'is impossible while claims are ignored',
    'a consolidated node with a free device elsewhere': 'moves the pod to a free device elsewhere',
    'a consolidated node without a device elsewhere': 'is impossible if no other device exists',
    'two moving pods of one claim': 'moves two pods that share a claim to one node',
    'a moving and a staying pod of one claim': 'keeps a claim for the network that a pod on another node shares',
    'a consumer that ended': 'are not used if their devices are taken',
  },
  'engine/dra/allocator.test.ts': {
    'a pool with missing slices, ExactCount and All': 'of a pool with missing slices are not used',
    'a newer generation with fewer slices': 'of an older generation are not used',
    'a duplicate device name': 'of a pool with duplicate names are not used',
    'mode All with two and four devices, and with 33 devices': 'for all devices need every device',
    'a count of 33': 'with %s are refused for every node',
    firstAvailable: 'with alternatives use the first that is possible',
    'a device of another zone': 'on the network narrow the node',
    'one device for all nodes': 'on the network are not taken twice',
    'devices with their own node selection': 'of different places are not combined',
    'a device taint': 'exclude a device unless the request tolerates them',
    'a DeviceTaintRule': 'of rules apply to the devices that the rule selects',
    'capacity and counters for administrative access': 'with administrative access need capacity and counters',
    'administrative access': 'with administrative access use devices that are taken',
    'a selector on an attribute of running nodes': 'on attributes of running nodes are explained',
    'a selector that fails on a published device': 'that fail on a published device refuse the node',
    'types that leave a planned node': 'are free again for types that the node does not have in the end',
  },
  'engine/dra/allocator-sharing.test.ts': {
    'matchAttribute on values': 'keep devices with one value',
    'matchAttribute on values of running nodes': 'compare values of running nodes by their groups',
    distinctAttribute: 'keep devices with different values',
    'GPUs and interfaces of one PCIe root': 'align devices of two drivers',
    'shares of a device': 'serve claims until their capacity is used',
    'requests outside a policy': 'are used by %s',
    'the default of a policy': 'are used completely without a request and policy',
    'partitions of a GPU': 'share the counters of their device',
    'an unknown counter set': 'of unknown counters are not used',
    'capacity names with a domain': 'need names of capacity as the driver writes them',
    'mode All on devices that are shared':
      'without enough remaining capacity do not count for a request for all devices',
    'one of two claims of a shared device moves':
      'count the consumed capacity of the cluster, except of claims that move',
    'eight of 16 devices': 'tries 8 of 16 devices in few steps if no combination is possible',
  },
  'engine/dra/hostile-slices.test.ts': { 'slices beyond the limits of the API': 'costs only its own pool' },
  'aws/dra/static-templates.test.ts': {
    'GPUs and EFA interfaces of g6 and p5, and all EFA interfaces with one GPU':
      'align GPUs with the EFA interfaces of their PCIe root',
  },
  'aws/launchtemplates/template-data.test.ts': { 'EFA interfaces of a claim at launch': 'dra.net' },
  'controllers/nodeclaim/devices.test.ts': { 'an extended resource without a device plugin': 'DeviceClass' },
  'controllers/devicetemplates/operator.test.ts': {
    'a driver that never publishes': 'get one node if the driver never publishes',
    'a driver that publishes fewer devices': 'get one node if the driver publishes fewer devices',
    'a static NodePool': 'do not delay the nodes of a static NodePool',
    'a claim and a class that are created later': 'get a node after their claim and its class are created',
    'the default settings': 'stay pending by default',
  },
  'state/devices/sources.test.ts': {
    'devices learned from a living node': 'come from declarations, then living nodes, then the table of the provider',
    'declared devices override others': 'come from declarations, then living nodes, then the table of the provider',
    'learned devices after the last node': 'are remembered, also after a restart',
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
