/** Lists in log lines: the first few, and how many more. */
export function firstFew(items: readonly string[], count = 5): string {
  const shown = items.slice(0, count).join(', ');
  return items.length > count ? `${shown} and ${items.length - count} other(s)` : shown;
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** `InstanceTerminating` → `instance_terminating`, for metric labels. */
export const snakeCase = (name: string): string => name.replace(/(?<=[a-z0-9])([A-Z])/g, '_$1').toLowerCase();
