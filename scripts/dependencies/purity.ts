/** The files whose types every rule and every command names. */
const plans = /^packages\/server\/src\/entity\/(plan|rules|command)\.ts$/;

/** The parts of plans: they give each run the same keys and the same time. */
const machinery = /^packages\/server\/src\/entity\/(new-keys|plan|plan-run|row-writer|unit-of-work|transact)\.ts$/;

/** What a module passes on, it does not use. */
const passedOn = /^export \{[^}]*\} from .*$/gm;

/** What differs from one run of a plan to the next. The clock of the process has a rule of its own. */
const impure = /(?<!plan\.)\b(newId|randomBytes|randomUUID|randomInt|getRandomValues|databaseClock)\b|\bMath\.random\b/;

interface Module {
  readonly source: string;
  readonly dependencies: readonly { readonly resolved: string }[];
}

/**
 * Finds rules and commands that are not pure. A plan runs again until everything that it reads is loaded, so two runs must not differ.
 *
 * @param textOf returns the text of a source.
 * @param tests sources that are no part of the service.
 */
export function impurePlans(modules: readonly Module[], textOf: (source: string) => string, tests: RegExp): string[] {
  return modules.flatMap(({ source, dependencies }) => {
    const isPlan =
      source.startsWith('packages/server/src/') && dependencies.some(({ resolved }) => plans.test(resolved));
    if (!isPlan || machinery.test(source) || tests.test(source)) return [];
    const [found] = impure.exec(textOf(source).replaceAll(passedOn, '')) ?? [];
    if (found === undefined) return [];
    return [`${source} has plans, which run several times, and uses ${found}. Take the keys and the time of the plan.`];
  });
}
