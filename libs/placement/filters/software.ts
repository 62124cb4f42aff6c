import type { InstalledVersion } from '../cluster/facts.js';
import type { ClusterNode } from '../cluster/state.js';
import type { Demand, SoftwareDemand } from '../demand.js';
import { inRange } from '../requirements/version-range.js';
import { check, must, PASS } from './check.js';
import type { Check } from './check.js';

/**
 * What must be installed: an engine for a job with an image; the application and the packages, each by exact name and in a version that lies in the range. A
 * version that is not known matches nothing, a name that is not listed neither.
 */
export const softwareChecks = ({ application, packages, container }: Demand): Check[] => [
  ...(container ? [CONTAINER] : []),
  ...(application ? applicationChecks(application) : []),
  ...packages.map(packageCheck),
];

/** Whichever engine it is: the image says nothing of it. */
const CONTAINER = check('software.container', 'docker or podman', (node) => must(node.facts.container !== undefined));

const applicationChecks = (demand: SoftwareDemand): Check[] => [
  check('software.application', demand.text, (node) => must(node.facts.applications.has(demand.name))),
  check(
    'software.version',
    demand.text,
    (node) => {
      const installed = node.facts.applications.get(demand.name);
      return installed === undefined ? PASS : must(matches(installed, demand));
    },
    (node) => bestOf(node.facts.applications, demand.name),
  ),
];

const packageCheck = (demand: SoftwareDemand): Check =>
  check(
    'software.package',
    demand.text,
    ({ facts: { packages } }) => must(matches(packages.get(demand.name), demand)),
    (node) => bestOf(node.facts.packages, demand.name),
  );

const matches = (
  installed: readonly InstalledVersion[] | undefined,
  { range, unreadable }: SoftwareDemand,
): boolean => {
  if (installed === undefined || unreadable) return false;
  for (const { text, version } of installed) {
    if (range ? version !== undefined && inRange(range, version) : isKnown(text)) return true;
  }
  return false;
};

const isKnown = (text: string): boolean => {
  const plain = text.trim().toLowerCase();
  return plain !== '' && plain !== 'unknown';
};

const bestOf = (installed: ClusterNode['facts']['packages'], name: string): string | undefined =>
  installed.get(name)?.[0]?.text;
