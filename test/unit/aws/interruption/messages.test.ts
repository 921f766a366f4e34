import { describe, expect, it } from '@jest/globals';
import { parseMessage } from '../../../../src/aws/interruption/messages.ts';

const event = (source: string, detailType: string, detail: object, version = '0'): string =>
  JSON.stringify({ version, source, 'detail-type': detailType, time: '2026-08-01T12:00:00Z', detail });

const ID = 'i-0123456789abcdef0';
const STATE = 'EC2 Instance State-change Notification';

describe('parseMessage', () => {
  it.each([
    [
      'spot_interrupted',
      'EC2 Spot Instance Interruption Warning',
      { 'instance-id': ID, 'instance-action': 'terminate' },
    ],
    ['rebalance_recommendation', 'EC2 Instance Rebalance Recommendation', { 'instance-id': ID }],
    [
      'capacity_reservation_interrupted',
      'EC2 Capacity Reservation Instance Interruption Warning',
      { 'instance-id': ID },
    ],
    ['instance_stopped', STATE, { 'instance-id': ID, state: 'stopping' }],
    ['instance_stopped', STATE, { 'instance-id': ID, state: 'stopped' }],
    ['instance_terminated', STATE, { 'instance-id': ID, state: 'shutting-down' }],
    ['instance_terminated', STATE, { 'instance-id': ID, state: 'STOPPING' }],
  ])('reads %s', (kind, detailType, detail) => {
    expect(parseMessage(event('aws.ec2', detailType, detail))).toEqual({
      kind,
      instanceIds: [ID],
      timeMs: Date.UTC(2026, 7, 1, 12),
    });
  });

  it('reads every entity of a scheduled change', () => {
    const detail = {
      service: 'EC2',
      eventTypeCategory: 'scheduledChange',
      affectedEntities: [{ entityValue: 'i-1' }, { entityValue: 'i-2' }],
    };
    expect(parseMessage(event('aws.health', 'AWS Health Event', detail))).toMatchObject({
      kind: 'scheduled_change',
      instanceIds: ['i-1', 'i-2'],
    });
  });

  it('skips entities of a scheduled change that are not instances', () => {
    const detail = {
      service: 'EC2',
      eventTypeCategory: 'scheduledChange',
      affectedEntities: [{ entityValue: 'h-0123456789abcdef0' }, {}, null, { entityValue: '' }, { entityValue: 'i-2' }],
    };
    expect(parseMessage(event('aws.health', 'AWS Health Event', detail)).instanceIds).toEqual(['i-2']);
  });

  it.each([
    ['an empty body', ''],
    ['an unknown source', event('acme', STATE, { 'instance-id': ID, state: 'stopped' })],
    ['an unknown version', event('aws.ec2', STATE, { 'instance-id': ID, state: 'stopped' }, '1')],
    ['a state that ends nothing', event('aws.ec2', STATE, { 'instance-id': ID, state: 'running' })],
    [
      'health events of others',
      event('aws.health', 'AWS Health Event', { service: 'RDS', eventTypeCategory: 'scheduledChange' }),
    ],
    ['another object', '{}'],
  ])('returns no_op for %s', (_, body) => {
    expect(parseMessage(body).kind).toBe('no_op');
  });

  it.each([
    ['no body', undefined],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['a detail of another shape', event('aws.ec2', STATE, { 'instance-id': 7, state: 'stopped' })],
    ['a detail without instance', event('aws.ec2', STATE, { state: 'stopped' })],
    ['an empty instance', event('aws.ec2', STATE, { 'instance-id': '', state: 'stopped' })],
    ['what is no ID of an instance', event('aws.ec2', STATE, { 'instance-id': 'aws:///a/i-1', state: 'stopped' })],
  ])('refuses %s', (_, body) => {
    expect(() => parseMessage(body)).toThrow();
  });
});
