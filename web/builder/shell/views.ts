import type { ComponentType } from 'react';
import { late } from '../../kit/late.tsx';
import { FormView } from '../form/form-view.tsx';
import { GraphView } from '../graph/graph-view.tsx';

type BuilderView = {
  readonly name: string;
  readonly title: string;
  readonly shows: ComponentType;
};

// Loaded late: few people open these first, and the editor is larger than the rest of the page.
const JsonView = late('editor', async () => (await import('../json/editor-box.tsx')).EditorBox);
const TemplateView = late('templates', async () => {
  return (await import('../templates/template-view.tsx')).TemplateView;
});
export const ReviewView = late('review', async () => {
  return (await import('../review/review-view.tsx')).ReviewView;
});
const TryView = late('trials', async () => (await import('../try/try-view.tsx')).TryView);

/** The tabs in their order. To add one: write a component and add a line here. */
export const views: readonly [BuilderView, ...BuilderView[]] = [
  { name: 'graph', title: 'Graph', shows: GraphView },
  { name: 'form', title: 'Form', shows: FormView },
  { name: 'json', title: 'JSON', shows: JsonView },
  { name: 'try', title: 'Try', shows: TryView },
  { name: 'templates', title: 'Templates', shows: TemplateView },
  { name: 'review', title: 'Review', shows: ReviewView },
];
