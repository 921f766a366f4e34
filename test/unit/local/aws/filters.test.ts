import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyFilters, page, wildcard } from '../../../../src/local/aws/filters.ts';
import { AwsError } from '../../../../src/local/aws/wire/error.ts';

describe('wildcard', () => {
  it.each([
    { pattern: 'm5.large', text: 'm5.large', matches: true },
    { pattern: 'm5.large', text: 'm5xlarge', matches: false },
    { pattern: 'm5.*', text: 'm5.24xlarge', matches: true },
    { pattern: 'm5.*', text: 'm5d.large', matches: false },
    { pattern: '*', text: '', matches: true },
    { pattern: 'a?c', text: 'abc', matches: true },
    { pattern: 'a?c', text: 'ac', matches: false },
    { pattern: 'a\\*c', text: 'a*c', matches: true },
    { pattern: 'a\\*c', text: 'abc', matches: false },
    { pattern: '(a+)', text: '(a+)', matches: true },
    { pattern: 'two*', text: 'two\nlines', matches: true },
  ])('matches or not: $pattern on $text: $matches', ({ pattern, text, matches }) => {
    expect(wildcard(pattern)(text)).toBe(matches);
  });

  it('matches a text with its escaped form, and no other text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, other) => {
        const escaped = text.replace(/[*?\\]/g, '\\$&');
        expect(wildcard(escaped)(text)).toBe(true);
        expect(wildcard(escaped)(other)).toBe(text === other);
      }),
    );
  });
});

describe('applyFilters', () => {
  const items = [
    { name: 'a', tags: { team: 'red', empty: '' } },
    { name: 'b', tags: { team: 'blue' } },
    { name: 'c', tags: {} },
  ];
  type Item = { name: string; tags: Record<string, string> };
  const apply = (...filters: { Name?: string; Values?: string[] }[]): string =>
    applyFilters<Item>(items, filters, { name: (item) => item.name }, (item) => item.tags)
      .map((item) => item.name)
      .join('');

  it.each([
    { when: 'no filter is given', filters: [], is: 'abc' },
    { when: 'one value matches', filters: [{ Name: 'name', Values: ['b'] }], is: 'b' },
    { when: 'any of the values matches', filters: [{ Name: 'name', Values: ['b', 'c'] }], is: 'bc' },
    {
      when: 'both filters match',
      filters: [
        { Name: 'tag:team', Values: ['*'] },
        { Name: 'name', Values: ['b'] },
      ],
      is: 'b',
    },
    { when: 'a tag has the value', filters: [{ Name: 'tag:team', Values: ['red'] }], is: 'a' },
    { when: 'a tag is empty', filters: [{ Name: 'tag:empty', Values: [''] }], is: 'a' },
    { when: 'the key exists', filters: [{ Name: 'tag-key', Values: ['te*'] }], is: 'ab' },
    { when: 'some tag has the value', filters: [{ Name: 'tag-value', Values: ['blue'] }], is: 'b' },
    { when: 'nothing matches', filters: [{ Name: 'name', Values: ['z'] }], is: '' },
  ])('keeps $is if $when', ({ filters, is }) => {
    expect(apply(...filters)).toBe(is);
  });

  it.each([
    { filters: [{ Name: 'colour', Values: ['red'] }], message: "The filter 'colour' is invalid" },
    { filters: [{ Values: ['red'] }], message: 'The filter name must not be empty' },
    { filters: [{ Name: 'name' }], message: "The filter 'name' has no values" },
  ])('rejects with $message', ({ filters, message }) => {
    expect(() => apply(...filters)).toThrow(new AwsError('InvalidParameterValue', message));
  });

  it('rejects more than 200 values', () => {
    expect(() => apply({ Name: 'name', Values: Array.from({ length: 201 }, String) })).toThrow(/filter values/);
  });
});

describe('page', () => {
  it('returns every item once in order for any page size', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (items, size) => {
        const seen: number[] = [];
        let token: string | undefined;
        do {
          const cut = page(items, { MaxResults: size, NextToken: token }, { max: 20 });
          expect(cut.items.length).toBeLessThanOrEqual(size);
          seen.push(...cut.items);
          token = cut.next;
        } while (token);
        expect(seen).toEqual(items);
      }),
    );
  });

  it('rejects invalid sizes and tokens of other lists', () => {
    expect(() => page([1], { MaxResults: 4 }, { min: 5, max: 10 })).toThrow(/between 5 and 10/);
    expect(() => page([1], { NextToken: 'nonsense' }, { max: 10 })).toThrow(/token/);
  });
});
