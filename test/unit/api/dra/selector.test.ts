import { describe, expect, it } from '@jest/globals';
import {
  compileSelector,
  LONGEST_SELECTOR,
  SelectorDevice,
  SelectorError,
  type SelectorValue,
} from '../../../../src/api/dra/selector.ts';
import { SelectorQuantity } from '../../../../src/api/dra/selector-functions.ts';
import { Semver } from '../../../../src/api/dra/semver.ts';

const version = Semver.parse('1.2.3') as Semver;
const attributes: Readonly<Record<string, SelectorValue>> = {
  ...{ model: 'a', n: 5n, healthy: true, version, list: ['a', 'b'] },
  ['__proto__']: 'own',
};
const device = new SelectorDevice(
  'd.example.com',
  new Map([['x.com', new Map(Object.entries(attributes))]]),
  new Map([['x.com', new Map([['memory', SelectorQuantity.parse('5Gi')]])]]),
  false,
);
const resultOf = (expression: string): boolean | string => {
  try {
    return compileSelector(expression).matches(device);
  } catch (error) {
    if (error instanceof SelectorError) return error.message;
    throw error;
  }
};

describe('a device selector', () => {
  it.each([
    "device.driver == 'd.example.com'",
    "device.attributes['x.com'].model == 'a'",
    "device.attributes['x.com']['model'] == 'a'",
    "'x.com' in device.attributes",
    "!('y.com' in device.attributes)",
    "!('model' in device.attributes['y.com'])",
    "device.attributes['y.com'] == {}",
    "!has(device.attributes['y.com'].model)",
    "has(device.attributes['x.com'].model) && device.attributes['x.com'].n < 6",
    "device.attributes['x.com'].?other.orValue('b') == 'b'",
    "device.attributes[?'y.com'].?model.orValue('b') == 'b'",
    "device.attributes['x.com'].exists(name, name == 'n')",
    "cel.bind(x, device.attributes['x.com'], x.model == 'a' && x.n == 5)",
    "device.attributes['x.com'].healthy",
    "device.attributes['x.com'].missing == 1 || true",
    '!device.allowMultipleAllocations',
    "device.capacity['x.com'].memory.compareTo(quantity('4Gi')) > 0",
    "device.capacity['x.com'].memory == quantity('5120Mi')",
    "device.capacity['x.com'].memory.isGreaterThan(quantity('5Gi').sub(1))",
    "device.capacity['x.com'].memory.isLessThan(quantity('5Gi').add(quantity('1')))",
    "device.capacity['x.com'].memory.asInteger() == 5368709120 && quantity('-1').sign() == -1",
    "isQuantity('5Gi') && !isQuantity('x') && !quantity('100m').isInteger()",
    "quantity('500m').asApproximateFloat() == 0.5",
    "device.attributes['x.com'].version == semver('1.2.3+build')",
    "device.attributes['x.com'].version.isGreaterThan(semver('1.2.3-rc.1'))",
    "device.attributes['x.com'].version.isLessThan(semver('v1.3', true))",
    "device.attributes['x.com'].version.compareTo(semver('1.2.3')) == 0",
    "device.attributes['x.com'].version.major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
    "isSemver('1.0.0') && !isSemver('1.0') && isSemver('01.0', true)",
    "device.attributes['x.com'].model in ['a', 'b'] && !(device.attributes['x.com'].n in [1, 2])",
    "device.attributes['x.com'].version in [semver('1.2.3')]",
    "device.attributes['x.com'].list.includes('a') && !device.attributes['x.com'].list.includes('c')",
    "device.attributes['x.com'].model.includes('a')",
    "device.attributes['x.com'].model.matches('^[a-c]$')",
    "sets.contains(['a', 'b'], ['a']) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1], [1])",
    "[3, 1, 2].max() == 3 && [3, 1].min() == 1 && [1, 2].sum() == 3 && [1, 2].isSorted() && ['a'].indexOf('b') == -1",
    "'abcabc'.replace('b', 'x') == 'axcaxc' && 'abc'.charAt(1) == 'b' && 'abc'.reverse() == 'cba'",
    "'a1b22'.findAll('[0-9]+') == ['1', '22']",
    "device.attributes['x.com']['__proto__'] == 'own'",
    "ip('10.0.0.1') == ip('10.0.0.1') && ip('::1') == ip('0:0:0:0:0:0:0:1') && ip('10.0.0.1').family() == 4",
    "isIP('2001:db8::1') && !isIP('10.0.0.01') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0') && !isIP('1.2.3')",
    "!isIP('1:2:3:4:5:6:7') && !isIP('1::2::3') && !isIP('12345::') && isIP('64:ff9b::1.2.3.4') && !isIP('::1.2.3.256')",
    "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8:0:0::1') && ip.isCanonical('::') && ip.isCanonical('1:0:0:2::3')",
    "string(ip('2001:DB8:0:0:1:0:0:1')) == '2001:db8::1:0:0:1' && string(ip('10.0.0.1')) == '10.0.0.1'",
    "ip('127.0.0.1').isLoopback() && ip('::').isUnspecified() && ip('10.0.0.1').isGlobalUnicast() && ip('::1').family() == 6",
    "ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && !ip('ff05::1').isLinkLocalMulticast()",
    "ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "cidr('2001:db8::/32').prefixLength() == 32 && string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
    "!isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08') && !isCIDR('10.0.0.0') && isCIDR('::/0')",
    "url('https://user@example.com:8443/a%20b?x=1&x=2&y=a+b').getHost() == 'example.com:8443'",
    "url('https://example.com:8443/a%20b?x=1').getPort() == '8443' && url('https://[::1]:80/').getHostname() == '::1'",
    "url('HTTPS://example.com/a%20b').getEscapedPath() == '/a%20b' && url('HTTPS://example.com').getScheme() == 'https'",
    "url('/path?x=1&x=2&y=a+b%21').getQuery() == {'x': ['1', '2'], 'y': ['a b!']} && url('/path').getHost() == ''",
    "!isURL('example.com') && !isURL('https://a b') && !isURL('https://a/%zz') && isURL('/a') && url('/a') == url('/a')",
    "'%s is %d, %.2f, %e, %x, %X, %o, %b, 100%%'.format(['a', 1, 2.5, 1500.0, 255, 'hi', 8, true]) == 'a is 1, 2.50, 1.500000e+03, ff, 6869, 10, 1, 100%'",
    "'%s %s %s'.format([[1, 'a'], {'k': 2}, null]) == '[1, a] {k: 2} null'",
    "!format.dns1123Label().validate('my-label').hasValue() && format.dns1123Label().validate('-x').hasValue()",
    "format.dns1123Label().validate('X').value() == ['must be a valid dns1123Label']",
    "!format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000').hasValue() && !format.named('x').hasValue()",
    "!format.qualifiedName().validate('example.com/Name_1').hasValue() && format.qualifiedName().validate('a/b/c').hasValue()",
    "!format.date().validate('2026-02-28').hasValue() && format.date().validate('2026-02-30').hasValue()",
    "!format.datetime().validate('2026-02-28T23:59:59.5+01:00').hasValue() && format.datetime().validate('2026-02-28').hasValue()",
    "!format.byte().validate('aGk=').hasValue() && format.byte().validate('aGk').hasValue() && !format.labelValue().validate('').hasValue()",
    "!format.dns1035LabelPrefix().validate('a-').hasValue() && format.dns1035Label().validate('1a').hasValue() && format.uri().validate('a b').hasValue()",
  ])('accepts %s', (expression) => {
    expect(resultOf(expression)).toBe(true);
  });

  it.each([
    ["device.attributes['x.com'].model == 1", false],
    ["device.attributes['x.com'].missing == 1", 'no such key: missing'],
    ["device.attributes['x.com'].constructor == 1", 'no such key: constructor'],
    ["device.attributes['x.com'].n", 'the result is not a bool'],
    ["device.attributes['x.com'].n > 'a'", 'no such overload: dyn<int> > string'],
    ['device.driver', 'must evaluate to bool, not string'],
    ['device.name == 1', 'no such key: name'],
    ['unknown(1)', "found no matching overload for 'unknown(int)'"],
    ['member_of(1, [1])', "undeclared reference to 'member_of'"],
    ["sets_contains(['a'], ['a'])", "undeclared reference to 'sets_contains'"],
    ['format_uuid() == format_uuid()', "undeclared reference to 'format_uuid'"],
    ["ip('x') == ip('y')", 'the text is not an IP address'],
    ["'%d'.format(['a']) == ''", 'the clause %d needs an integer'],
    ["'%q'.format(['a']) == ''", 'unrecognized formatting clause "q"'],
    ["'%s%s'.format(['a']) == ''", 'index 1 out of range'],
    ["'%.101f'.format([1.0]) == ''", 'the precision exceeds 100'],
    ["int('0x10') == 16", "type conversion error from 'string' to 'int'"],
    [`'${'x'.repeat(LONGEST_SELECTOR)}' == ''`, `the expression is longer than ${LONGEST_SELECTOR} bytes`],
  ])('returns %s → %s', (expression, expected) => {
    expect(resultOf(expression)).toBe(expected);
  });

  it('stops if it costs too much', () => {
    const hundred = `[${Array.from({ length: 100 }, (_, at) => at).join()}]`;
    const nested = ['a', 'b', 'c', 'd'].reduceRight((body, name) => `${hundred}.all(${name}, ${body})`, 'true');
    expect(resultOf(nested)).toBe('too complex, exceeds cost limit');
    const text = "'%s'.format([[a, a, a, a, a, a, a, a, a, a]])";
    const growing = Array.from({ length: 7 }).reduceRight<string>((body) => `cel.bind(a, ${text}, ${body})`, "a == ''");
    expect(resultOf(`cel.bind(a, 'xxxxxxxxxx', ${growing})`)).toBe('too complex, exceeds cost limit');
  });

  it('names the drivers that it compares, and the key that a device lacks', () => {
    expect(compileSelector("device.driver == 'a' || 'b' == device.driver").drivers).toEqual(['a', 'b']);
    const missing = compileSelector("device.attributes['x.com'].missing == 1");
    expect(() => missing.matches(device)).toThrow(expect.objectContaining({ missingKey: 'missing' }));
  });
});

describe('a version', () => {
  it('is compared by semantic versioning', () => {
    const order =
      '1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.10.0 2.0.0';
    const versions = order.split(' ').map((text) => Semver.parse(text) as Semver);
    for (const [at, lower] of versions.entries())
      for (const [other, higher] of versions.entries())
        expect(Math.sign(lower.compare(higher))).toBe(Math.sign(at - other));
  });

  it.each(['1.0', '01.0.0', '1.0.0-01', 'v1.0.0', '1.0.0+', `1.0.${'0'.repeat(60)}1`, ''])('rejects %s', (text) => {
    expect(Semver.parse(text)).toBeUndefined();
  });
});
