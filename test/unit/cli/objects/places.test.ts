import { describe, expect, it } from '@jest/globals';
import { placesOf } from '../../../../src/cli/objects/places.ts';
import { parseManifests } from '../../../../src/cli/objects/read.ts';

const node = (name: string, zone: string, more = ''): string =>
  `apiVersion: v1\nkind: Node\nmetadata: {name: ${name}, labels: {topology.kubernetes.io/zone: ${zone}${more}}}\n`;
const nodeClass = (...zones: readonly string[]): string =>
  `apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nstatus: {subnets: [${zones.map((zone) => `{id: s, zone: ${zone}, zoneID: id-${zone}}`).join(', ')}]}\n`;
const home = ['us-west-2a', 'us-west-2b', 'us-west-2c'];

describe('the list of region and zones of manifests', () => {
  it.each([
    { when: 'no object has a zone', text: '', region: 'us-west-2', zones: home },
    { when: 'Nodes are in some default zones', text: node('a', 'us-west-2b'), region: 'us-west-2', zones: home },
    {
      when: 'subnets name all zones in the default region',
      text: nodeClass('us-west-2b', 'us-west-2a', 'us-west-2a'),
      region: 'us-west-2',
      zones: ['us-west-2a', 'us-west-2b'],
    },
    {
      when: 'Nodes are in another region',
      text: `${node('a', 'eu-central-1b')}---\n${node('b', 'eu-central-1a')}`,
      region: 'eu-central-1',
      zones: ['eu-central-1a', 'eu-central-1b'],
    },
    {
      when: 'there is a local zone',
      text: node('a', 'us-west-2-lax-1a', ', topology.kubernetes.io/region: us-west-2'),
      region: 'us-west-2',
      zones: ['us-west-2-lax-1a', ...home],
    },
    {
      when: 'the name of the region is long',
      text: node('a', 'us-gov-west-1a'),
      region: 'us-gov-west-1',
      zones: ['us-gov-west-1a'],
    },
  ])('is that of the cluster if $when', ({ text, region, zones }) => {
    const places = placesOf(parseManifests(text, 'test.yaml'));
    expect({ region: places.region, zones: places.zones.map(({ name }) => name) }).toEqual({ region, zones });
  });

  it('has the zone IDs of the objects', () => {
    const text = `${nodeClass('eu-west-1a')}---\n${node('a', 'eu-west-1b', ', topology.k8s.aws/zone-id: euw1-az9')}`;
    expect(placesOf(parseManifests(text, 'test.yaml')).zones).toEqual([
      { name: 'eu-west-1a', id: 'id-eu-west-1a' },
      { name: 'eu-west-1b', id: 'euw1-az9' },
    ]);
  });
});
