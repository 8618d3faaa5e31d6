/** Problems and warnings of skills, worded alike in a check and at a start. */
import { ProblemList, problemWithoutPlace, type ConfigProblem } from '../../config/problems.ts';
import type { Inspection } from '../../config/inspect.ts';
import { locate } from '../../config/locate.ts';

type OfSkills = { readonly path: string; readonly message: string };

const mendSkill =
  'Mend the skill, or raise skills_body_budget where its text is left out; svc reads skills when ' +
  'it starts and when it takes a configuration.';
const mendFolder = 'Make the folder readable, or remove the field.';

/** For a folder that cannot be read: no running configuration is made without its skills. */
export function problemOfSkills({ path, message }: OfSkills): ConfigProblem {
  const problem = problemWithoutPlace('skills_missing', path, message, mendFolder);
  return { ...problem, severity: 'error' };
}

export function warningOfSkill({ path, message }: OfSkills): ConfigProblem {
  return problemWithoutPlace('skill_faulty', path, message, mendSkill);
}

/** The warnings that a start would log about skills, each at its field. */
export async function warningsOfSkills({
  validation,
  text,
}: Pick<Inspection, 'validation' | 'text'>): Promise<readonly ConfigProblem[]> {
  if (validation.kind === 'invalid') return [];
  const facts = new ProblemList(text, locate(text).places);
  const { readSkillsOf } = await import('../../brains/skills.ts');
  const skills = await readSkillsOf(validation.config.brains);
  if (skills.kind === 'read') {
    for (const { path, message } of skills.warnings) {
      facts.add('skill_faulty', path, message, mendSkill);
    }
  } else if (!validation.problems.some(({ code }) => code === 'skills_missing')) {
    const message = `${skills.message}; serve will not start without it`;
    facts.add('skills_missing', skills.path, message, mendFolder);
  }
  return facts.sorted();
}
