/** Formats a list for log lines: the first items, and the number of further items. */
export function firstFew(items: readonly string[], count = 5): string {
  const shown = items.slice(0, count).join(', ');
  return items.length > count ? `${shown} and ${items.length - count} other(s)` : shown;
}

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Converts a name for metric labels: `InstanceTerminating` → `instance_terminating`. */
export const snakeCase = (name: string): string => name.replace(/(?<=[a-z0-9])([A-Z])/g, '_$1').toLowerCase();
