import { CreateFleet$, CreateLaunchTemplate$, DescribeSubnets$ } from '@aws-sdk/client-ec2';
import { CreateInstanceProfile$ } from '@aws-sdk/client-iam';
import { SendMessage$ } from '@aws-sdk/client-sqs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeJson, encodeJson } from '../../../../src/local/aws/wire/json.ts';
import { decodeQuery } from '../../../../src/local/aws/wire/query.ts';
import { encodeXml, escapeXml } from '../../../../src/local/aws/wire/service.ts';
import { operationShape } from '../../../../src/local/aws/wire/shape.ts';

const decodeEc2 = (schema: unknown, query: string): Record<string, unknown> =>
  decodeQuery(operationShape(schema).input, new URLSearchParams(query), 'ec2');

describe('decodeQuery', () => {
  it('parses EC2 lists, numbers and booleans into the names and types of the SDK', () => {
    expect(
      decodeEc2(
        DescribeSubnets$,
        'Action=DescribeSubnets&Version=2016-11-15&Filter.2.Name=state&Filter.2.Value.1=available' +
          '&Filter.1.Name=tag%3Aa&Filter.1.Value.2=y&Filter.1.Value.1=x&MaxResults=500&DryRun=false&SubnetId.1=subnet-1',
      ),
    ).toEqual({
      Filters: [
        { Name: 'tag:a', Values: ['x', 'y'] },
        { Name: 'state', Values: ['available'] },
      ],
      MaxResults: 500,
      DryRun: false,
      SubnetIds: ['subnet-1'],
    });
  });

  it('sorts list items numerically beyond nine', () => {
    const query = Array.from({ length: 12 }, (_, index) => `SubnetId.${index + 1}=s${index + 1}`)
      .reverse()
      .join('&');
    expect(decodeEc2(DescribeSubnets$, query).SubnetIds).toEqual(
      Array.from({ length: 12 }, (_, index) => `s${index + 1}`),
    );
  });

  it('parses the lists of older services', () => {
    const query = 'InstanceProfileName=p&Tags.member.1.Key=k&Tags.member.1.Value=v';
    expect(decodeQuery(operationShape(CreateInstanceProfile$).input, new URLSearchParams(query), 'query')).toEqual({
      InstanceProfileName: 'p',
      Tags: [{ Key: 'k', Value: 'v' }],
    });
  });

  it.each([
    { query: 'Colour=red', code: 'UnknownParameter', says: 'Colour' },
    { query: 'Filter.1.Colour=red', code: 'UnknownParameter', says: 'Filter.1.Colour' },
    { query: 'Filter.x.Name=red', code: 'UnknownParameter', says: 'Filter.x' },
    { query: 'MaxResults=many', code: 'InvalidParameterValue', says: 'MaxResults' },
    { query: 'DryRun=maybe', code: 'InvalidParameterValue', says: 'DryRun' },
  ])('rejects $query', ({ query, code, says }) => {
    expect(() => decodeEc2(DescribeSubnets$, query)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(says) }),
    );
  });

  it('names a missing required member', () => {
    expect(() => decodeEc2(CreateLaunchTemplate$, 'LaunchTemplateName=abc')).toThrow(
      expect.objectContaining({ code: 'MissingParameter', message: expect.stringContaining('LaunchTemplateData') }),
    );
    expect(() => decodeEc2(CreateFleet$, 'Type=instant')).toThrow(/LaunchTemplateConfigs/);
  });
});

describe('encodeXml', () => {
  it('uses EC2 element names and item lists', () => {
    const { output } = operationShape(DescribeSubnets$);
    expect(
      encodeXml(output, { Subnets: [{ SubnetId: 's', Tags: [{ Key: 'a&b', Value: '' }] }], NextToken: undefined }),
    ).toBe(
      '<subnetSet><item><tagSet><item><key>a&amp;b</key><value/></item></tagSet><subnetId>s</subnetId></item></subnetSet>',
    );
  });

  it('escapes all markup in text', () => {
    fc.assert(fc.property(fc.string(), (text) => !/[<>"'\r]|&(?!amp;|lt;|gt;|quot;|apos;|#xD;)/.test(escapeXml(text))));
  });
});

describe('JSON', () => {
  const { input } = operationShape(SendMessage$);
  it('converts base64 to bytes and back', () => {
    const sent = {
      QueueUrl: 'u',
      MessageBody: 'b',
      MessageAttributes: { a: { DataType: 'Binary', BinaryValue: 'AQI=' } },
    };
    const decoded = decodeJson(input, sent) as { MessageAttributes: { a: { BinaryValue: Uint8Array } } };
    expect([...decoded.MessageAttributes.a.BinaryValue]).toEqual([1, 2]);
    expect(encodeJson(input, decoded)).toEqual(sent);
  });

  it.each([
    { sent: { QueueUrl: 'u' }, says: 'MessageBody' },
    { sent: { QueueUrl: 1, MessageBody: 'b' }, says: 'QueueUrl' },
    { sent: [], says: 'the request' },
  ])('rejects $sent', ({ sent, says }) => {
    expect(() => decodeJson(input, sent)).toThrow(new RegExp(says));
  });
});
